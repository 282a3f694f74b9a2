import TransferAccess
import TransferModel

/// Input: task (1 byte), then an access list, or texts with a NUL after each.
enum AccessTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        switch input.byte() % 4 {
        case 0: try AccessListCheck<AuthorizedKey>(input.rest()).run()
        case 1: try AccessListCheck<AccessToken>(input.rest()).run()
        case 2: for text in input.texts() { try readLine(text) }
        default: for text in input.texts() { try readField(text) }
        }
    }

    /// Reads a line that a client's owner would send to the operator.
    private static func readLine(_ text: String) throws(Finding) {
        switch Result(catching: { () throws(AccessFault) in try AuthorizedKey(line: text) }) {
        case .success(let key):
            try require(AccessList<AuthorizedKey>(Array(text.utf8)).entries == [key], "A line is another in a list.")
        case .failure(let fault): try require(shown: fault.message)
        }
    }

    private static func readField(_ text: String) throws(Finding) {
        if let secret = AccessSecret(text) {
            try require(AccessSecret(secret.text) == secret, "A secret is not read again.")
            try require("\(secret)" == "\(secret.kind.rawValue)_\(secret.id)_...", "A secret is shown.")
        }
        if let time = UTCTime(text) {
            try require(UTCTime(time.description) == time, "'\(text)' is \(time), which is not read again.")
            try require(
                [text, text + "T00:00:00Z"].contains { $0.utf8.elementsEqual(time.description.utf8) },
                "'\(text)' is another time, \(time).")
        }
        if let hash = SecretHash(text) {
            try require(hash.description.utf8.elementsEqual(text.utf8), "A hash has two forms.")
        }
    }
}
