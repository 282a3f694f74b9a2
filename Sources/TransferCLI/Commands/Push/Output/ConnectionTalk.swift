private import TransferModel

/// What is said of a connection that is lost, or that cannot be made.
struct ConnectionTalk {
    private var isConnected = false

    mutating func connected() { isConnected = true }

    /// - Parameters:
    ///   - reason: a sentence, or the words of the system.
    ///   - seconds: until the next attempt.
    func line(_ reason: String, after seconds: Double) -> String {
        let what = isConnected ? "connection lost" : "not connected"
        return "\(what): \(reason.asClause.escapedForDisplay); trying again \(DurationFormat.after(seconds))"
    }
}

extension String {
    /// A sentence as a part of a longer one: without its full stop.
    var asClause: String { utf8.last == UInt8(ascii: ".") ? String(Substring(utf8.dropLast())) : self }
}
