"""Sixty questions, each with the tool that answers it; written as people ask, not as tools are described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("QUESTIONS", "Question")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the tool that should be found."""

    text: str
    tool: str
    language: Literal["en", "zh"]


_ENGLISH = """
cancel_order | I changed my mind, please cancel the order I placed this morning
get_order | Where is my order 4711 right now?
list_order | Which orders did we receive last week?
create_invoice | Bill the Miller company for the consulting hours
export_invoice | I need all invoices as an Excel sheet for the accountant
remind_invoice | Nudge the client who still has not paid the invoice
update_customer | Mrs Chen moved, her account needs the new address
create_customer | Set up an account for a new customer
get_parcel | Track a parcel
assign_parcel | Hand the damaged parcels over to the claims team
create_room | Book a double room for two nights in Vienna
cancel_room | We will not come, drop the hotel booking
update_flight | Move my flight to Friday afternoon
get_flight | Is the flight reservation confirmed?
create_employee | A colleague starts on Monday; add her to the staff records as a new employee
export_employee | Download the employee list as a PDF
approve_contract | Legal is fine with the contract, sign it off as approved
attach_contract | Add the signed scan to the contract file
assign_ticket | Give this support ticket to the second-level team
list_ticket | Show all support tickets since January
create_meeting | Schedule a meeting with the sales team tomorrow at ten
remind_meeting | Send everybody a text message before the meeting begins
update_product | The price of this product is wrong, change it
create_coupon | Make a discount code of ten percent
cancel_coupon | Withdraw the coupon that leaked on social media
approve_supplier | Let the new supplier through, the check was positive
list_payment | Which card payments came in yesterday?
cancel_payment | Stop that card payment before it is executed
get_warehouse_stock | How many chairs are left in the warehouse?
update_warehouse_stock | Correct the stock level after the inventory count
"""
_CHINESE = """
create_refund | 我要申请退款
approve_refund | 请批准这笔退款
get_refund | 我的退款到哪一步了?
create_leave_request | 我下周想请三天假
cancel_leave_request | 请假不需要了,帮我撤销
approve_leave_request | 同意小王的请假申请
create_expense | 帮我把上周出差的费用报销
list_expense | 列出上个月所有的差旅报销单
attach_expense | 给报销单补一张发票附件
assign_vehicle | 把公司的车分配给销售部的老李
list_vehicle | 公司现在有哪些车辆?
cancel_subscription | 我不想再收到你们的邮件了,取消订阅
update_subscription | 订阅的邮箱换了,请修改
create_course | 新建一门安全培训课程
remind_course | 培训快开始了,给学员发个短信提醒
get_patient | 看一下这位患者的病历
export_patient | 把病历导出成PDF
create_appointment | 我想预约明天上午的门诊
cancel_appointment | 明天去不了医院了,取消门诊预约
approve_budget_plan | 部门预算可以通过了
update_budget_plan | 把市场部的预算调高一万,修改一下
list_project | 今年都有哪些项目?
assign_project | 这个项目交给谁负责?分配给李雷
create_task | 在项目里加一个新任务
update_task | 任务的截止日期要修改
export_survey | 问卷调查的结果导出成表格
create_campaign | 新建一个双十一的广告活动
cancel_campaign | 广告投放先停掉,撤销活动
update_menu | 餐厅菜单要换掉几道菜
get_salary | 查看我上个月的工资单
"""


def _questions() -> tuple[Question, ...]:
    made = []
    languages: tuple[tuple[str, Literal["en", "zh"]], ...] = ((_ENGLISH, "en"), (_CHINESE, "zh"))
    for rows, language in languages:
        for row in rows.strip().splitlines():
            tool, _, text = row.partition(" | ")
            made.append(Question(text, tool, language))
    return tuple(made)


QUESTIONS: tuple[Question, ...] = _questions()
"""Half of them English, about the tools described so; half Chinese, about the others."""
