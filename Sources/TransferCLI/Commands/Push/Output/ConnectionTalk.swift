private import TransferModel

/// Messages about a connection that was lost or cannot be made.
struct ConnectionTalk {
    private var isConnected = false

    mutating func connected() { isConnected = true }

    /// - Parameters:
    ///   - reason: a sentence, or the text of an errno.
    ///   - seconds: until the next attempt.
    func line(_ reason: String, after seconds: Double) -> String {
        let what = isConnected ? "connection lost" : "not connected"
        return "\(what): \(reason.asClause.escapedForDisplay); trying again \(DurationFormat.after(seconds))"
    }
}

extension String {
    /// The text without its full stop, as part of a longer sentence.
    var asClause: String { utf8.last == UInt8(ascii: ".") ? String(Substring(utf8.dropLast())) : self }
}
