import TransferMail
import TransferModel
import TransferStore

extension LogEvent {
    /// All of a message was given to a connection.
    static func handedOn(_ delivery: Delivery, peer: String) -> LogEvent {
        LogEvent(
            .debug, "handedOn",
            "sent \(delivery.mail.name.escapedForDisplay) from \(delivery.mail.sender.escapedForDisplay) to "
                + "\(delivery.recipient.escapedForDisplay), \(delivery.mail.size) bytes",
            fields(of: delivery) + [("peer", .string(peer))])
    }

    /// Something waits for a client whose framing cannot carry it.
    static func unfit(_ delivery: Delivery) -> LogEvent {
        let mail = delivery.mail
        let what = mail.note == nil ? "a \(mail.kind.name) of \(mail.size) bytes" : "a sealed upload"
        return LogEvent(
            .warning, "unfit",
            "\(mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) is \(what), which the client's framing "
                + "cannot carry: it waits for somebody with that name who uses transfer receive",
            fields(of: delivery))
    }

    /// What waits for a client cannot be read.
    static func notHandedOn(_ delivery: Delivery, _ error: Failure) -> LogEvent {
        LogEvent(
            .error, "notHandedOn",
            "\(delivery.mail.name.escapedForDisplay) for \(delivery.recipient.escapedForDisplay) cannot be sent: \(error.message)",
            fields(of: delivery) + [("result", .string(error.code.name)), ("message", .string(error.message))])
    }
}
