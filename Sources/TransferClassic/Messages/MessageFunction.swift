/// What a message of `header7` and `tagged37` is: the function code of the one and the type of the other. Codes that version 2
/// has too mean the same there (`docs/reference/protocol.md`, *Function codes*).
package enum MessageFunction: UInt16, Sendable, CaseIterable {
    case ping = 3
    case pong = 4
    case goodbye = 5
    case begin = 16
    case chunk = 18
    case end = 20
    case abort = 21
    case result = 23
    case text = 64

    /// Bytes of JSON that it may have, inflated.
    var longestJSON: Int {
        switch self {
        case .chunk, .text: ClassicLimits.json
        case .ping, .pong, .goodbye, .begin, .end, .abort, .result: ClassicLimits.shortJSON
        }
    }

    /// Whether it may come without any members.
    var canBeEmpty: Bool { [.ping, .pong, .goodbye].contains(self) }
}
