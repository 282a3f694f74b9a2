import TransferDatabase
import TransferMail
import TransferModel

extension LogEvent {
    static func mailFailed(_ error: DatabaseError) -> LogEvent {
        LogEvent(
            .error, "mailFailed",
            "the mailboxes cannot be used, and nothing is taken for anybody: \(error.message) Everything else works. What "
                + "waited is in \(MailLedger.fileName) and the folder \(RelativePath.mailName) beside it: mend it, or bring both "
                + "back from a backup; without that folder, the next start begins with empty mailboxes",
            [("message", .string(error.message))])
    }

    static func mailExpired(_ delivery: Delivery) -> LogEvent {
        let (sender, recipient) = (delivery.mail.sender.escapedForDisplay, delivery.recipient.escapedForDisplay)
        return LogEvent(
            .info, "mailExpired",
            "\(recipient) has not come for \(delivery.mail.name.escapedForDisplay) of \(sender), \(delivery.mail.size) bytes",
            fields(of: delivery))
    }

    /// - Parameter files: in the mailboxes' folder that no mailbox knows.
    static func mailSwept(_ files: Int) -> LogEvent {
        LogEvent(
            .info, "mailSwept", "removed \(files) uploads for somebody that nobody was told of",
            [("count", .unsigned(UInt64(files)))])
    }

    /// A recipient has said what became of something.
    static func settled(_ delivery: Delivery, peer: String) -> LogEvent {
        let (sender, recipient) = (delivery.mail.sender.escapedForDisplay, delivery.recipient.escapedForDisplay)
        let verb = delivery.state == .delivered ? "has received" : "has declined"
        return LogEvent(
            .info, delivery.state.name,
            "\(recipient) \(verb) \(delivery.mail.name.escapedForDisplay) from \(sender), \(delivery.mail.size) bytes",
            fields(of: delivery) + [("peer", .string(peer))])
    }

    static func fields(of delivery: Delivery) -> [(key: String, value: LogValue)] {
        [
            ("delivery", .string(delivery.mail.id.description)), ("from", .string(delivery.mail.sender)),
            ("to", .string(delivery.recipient)), ("name", .string(delivery.mail.name)),
            ("size", .unsigned(delivery.mail.size)),
        ]
    }
}
