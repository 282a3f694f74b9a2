/// The function of a message: the function code of `header7` and the type of `tagged37`. Codes that version 2 also has
/// mean the same there (`docs/reference/protocol.md`, *Function codes*).
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

    /// The most bytes of JSON after decompression.
    var longestJSON: Int {
        switch self {
        case .chunk, .text: ClassicLimits.json
        case .ping, .pong, .goodbye, .begin, .end, .abort, .result: ClassicLimits.shortJSON
        }
    }

    /// Whether the message may have no members.
    var canBeEmpty: Bool { [.ping, .pong, .goodbye].contains(self) }
}
