import TransferModel

extension LocalFailure {
    /// - Parameter message: why the framing cannot carry it.
    static func unsuitable(_ message: String) -> LocalFailure { LocalFailure(code: .unsuitable, message: message) }

    /// The framing has no acknowledgement.
    ///
    /// - Parameter remark: what the other side said nevertheless.
    static func unanswered(_ remark: String?) -> LocalFailure {
        let said = remark.map { " The other side says: \($0)" } ?? ""
        return LocalFailure(
            code: .unacknowledged,
            message: "Sent, not acknowledged: this framing has no acknowledgement (verified: no).\(said)")
    }

    /// All of it was sent, and no answer came.
    ///
    /// - Parameter reason: what came instead; a sentence or the front of one.
    static func doubtful(_ reason: String) -> LocalFailure {
        let end = reason.utf8.last == UInt8(ascii: ".") ? "" : "."
        return LocalFailure(
            code: .unacknowledged,
            message:
                "All of it was sent, and no answer came: \(reason)\(end) Whether it is stored is not known. It is not "
                + "sent again by itself, which could store it twice.")
    }

    static let stopped = LocalFailure(code: .cancelled, message: "It was stopped.")

    static let notSent = LocalFailure(code: .cancelled, message: "Not sent.")
}
