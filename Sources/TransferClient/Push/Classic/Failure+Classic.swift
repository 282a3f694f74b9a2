import TransferModel

extension Failure {
    /// - Parameter message: why the framing cannot carry it.
    static func unsuitable(_ message: String) -> Failure { Failure(.unsuitable, message) }

    /// The framing has no acknowledgement.
    ///
    /// - Parameter remark: what the other side said nevertheless.
    static func unanswered(_ remark: String?) -> Failure {
        let said = remark.map { " The other side says: \($0)" } ?? ""
        return Failure(
            .unacknowledged,
            "Sent, not acknowledged: this framing has no acknowledgement (verified: no).\(said)")
    }

    /// All of it was sent, and no answer came.
    ///
    /// - Parameter reason: what came instead; a sentence or the front of one.
    static func doubtful(_ reason: String) -> Failure {
        let end = reason.utf8.last == UInt8(ascii: ".") ? "" : "."
        return Failure(
            .unacknowledged,
            "All of it was sent, and no answer came: \(reason)\(end) Whether it is stored is not known. It is not "
                + "sent again by itself, which could store it twice.")
    }

    static let stopped = Failure(.cancelled, "It was stopped.")

    static let notSent = Failure(.cancelled, "Not sent.")
}
