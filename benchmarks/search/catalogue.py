"""Three hundred tools of a business: ten operations on thirty subjects, half of them described in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentforge.model import ToolParameters, ToolSpecification

__all__ = ("OPERATIONS", "SUBJECTS", "Operation", "Subject", "tools_of")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a tool works on: its name, and how it is called in both languages."""

    name: str
    english: str
    chinese: str
    language: Literal["en", "zh"] = "en"


@dataclass(frozen=True, slots=True)
class Operation:
    """What a tool does; the texts take the subject, the parameters are name, type and both descriptions."""

    verb: str
    english: str
    chinese: str
    parameters: tuple[tuple[str, str, str, str], ...]


def _subjects(rows: str, language: Literal["en", "zh"]) -> tuple[Subject, ...]:
    made = []
    for row in rows.strip().splitlines():
        name, english, chinese = (cell.strip() for cell in row.split("|"))
        made.append(Subject(name, english, chinese, language))
    return tuple(made)


SUBJECTS: tuple[Subject, ...] = (
    *_subjects(
        """
        order | customer order | 客户订单
        invoice | invoice | 发票
        customer | customer account | 客户账户
        parcel | parcel | 包裹
        room | hotel room booking | 酒店客房预订
        flight | flight reservation | 航班预订
        employee | employee record | 员工档案
        contract | contract | 合同
        ticket | support ticket | 客服工单
        meeting | calendar meeting | 日历会议
        product | product of the catalogue | 商品目录
        coupon | discount coupon | 优惠券
        supplier | supplier | 供应商
        payment | card payment | 银行卡支付
        warehouse_stock | warehouse stock level | 仓库库存
        """,
        "en",
    ),
    *_subjects(
        """
        refund | refund | 退款申请
        leave_request | leave request | 请假申请
        expense | travel expense claim | 差旅报销单
        vehicle | company vehicle | 公司车辆
        subscription | newsletter subscription | 邮件订阅
        course | training course | 培训课程
        patient | patient record | 患者病历
        appointment | doctor's appointment | 医生门诊预约
        budget_plan | department budget | 部门预算
        project | project | 项目
        task | task of a project | 项目任务
        survey | customer survey | 客户问卷调查
        campaign | advertising campaign | 广告投放活动
        menu | restaurant menu | 餐厅菜单
        salary | salary slip | 工资单
        """,
        "zh",
    ),
)
"""The first fifteen are described in English, the others in Chinese; all names are English."""

_ID = ("{name}_id", "string", "Number of the {english}.", "{chinese}的编号。")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "create",
        "Creates a new {english} from the given details.",
        "根据给定信息新建{chinese}。",
        (("details", "object", "All fields of the {english}.", "{chinese}的全部字段。"),),
    ),
    Operation("get", "Shows one {english} with its current status.", "查看单个{chinese}的详情和当前状态。", (_ID,)),
    Operation(
        "list",
        "Lists entries of the type {english} within a period, newest first.",
        "按时间段列出{chinese},最新的在前。",
        (
            ("since", "string", "First day.", "开始日期。"),
            ("until", "string", "Last day.", "结束日期。"),
        ),
    ),
    Operation(
        "update",
        "Changes fields of an existing {english}.",
        "修改已有{chinese}的内容。",
        (_ID, ("changes", "object", "Fields with their new values.", "要修改的字段和新值。")),
    ),
    Operation(
        "cancel",
        "Cancels or withdraws a {english}.",
        "取消或撤销{chinese}。",
        (_ID, ("reason", "string", "Why it is cancelled.", "取消的原因。")),
    ),
    Operation(
        "approve",
        "Approves a {english} that waits for a decision.",
        "审批通过等待处理的{chinese}。",
        (_ID, ("comment", "string", "A remark for the record.", "审批意见。")),
    ),
    Operation(
        "export",
        "Exports {english} data as a spreadsheet or PDF file for download.",
        "将{chinese}导出为可下载的表格或PDF文件。",
        (("format", "string", "csv, xlsx or pdf.", "文件格式:csv、xlsx或pdf。"),),
    ),
    Operation(
        "assign",
        "Assigns a {english} to a responsible person or team.",
        "把{chinese}分配给负责人或团队。",
        (_ID, ("assignee", "string", "Who takes care of it.", "由谁负责。")),
    ),
    Operation(
        "remind",
        "Sends a reminder about a {english} by e-mail or text message.",
        "通过邮件或短信发送有关{chinese}的提醒。",
        (_ID, ("recipient", "string", "Who is reminded.", "提醒谁。")),
    ),
    Operation(
        "attach",
        "Attaches a file or a note to a {english}.",
        "为{chinese}添加附件或备注。",
        (_ID, ("content", "string", "The note, or the file's address.", "备注内容或文件地址。")),
    ),
)


def tools_of(language: Literal["own", "en"] = "own") -> tuple[ToolSpecification, ...]:
    """All tools. ``own``: each subject's own language; ``en``: every description in English."""
    return tuple(
        _tool(subject, operation, "en" if language == "en" else subject.language)
        for subject in SUBJECTS
        for operation in OPERATIONS
    )


def _tool(subject: Subject, operation: Operation, language: str) -> ToolSpecification:
    words: Mapping[str, str] = {"name": subject.name, "english": subject.english, "chinese": subject.chinese}
    builder = ToolParameters.builder()
    for name, kind, english, chinese in operation.parameters:
        text = (english if language == "en" else chinese).format(**words)
        builder.add_property(name.format(**words), kind, text, required=True)
    said = (operation.english if language == "en" else operation.chinese).format(**words)
    return ToolSpecification(f"{operation.verb}_{subject.name}", said, builder.build())
