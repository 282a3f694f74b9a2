import TransferModel
import TransferProtocol

/// Input: a function code (1 byte, its index in the table), a body, with or without its check.
enum MessageTarget {
    private static let functions = FunctionCode.allCases.filter { $0 != .data }

    /// The largest number of bytes in a body that can be encoded again: a check is added, and repaired texts grow up to
    /// their limit.
    private static let longestAgain = Limits.controlBody - 4 * Limits.text

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let function = functions[Int(input.byte()) % functions.count]
        let body = input.rest()
        // The frame parser refuses longer bodies.
        guard body.count <= Limits.controlBody,
            let message = decoded(function, body) ?? decoded(function, withCheck(body, of: function))
        else { return }
        try require(message.function == function, "\(function) became \(message.function).")
        guard body.count <= longestAgain else { return }
        try compare(message)
    }

    /// Texts for people are cut and repaired once; all other values are unchanged.
    private static func compare(_ message: Message) throws(Finding) {
        let first = encoded(message)
        guard let again = try parsed(first) else { throw Finding("What was encoded cannot be decoded: \(message).") }
        let second = encoded(again)
        let isCut = message.texts.contains { $0.utf8.count > Limits.text }
        try require(isCut || first == second, "\(message) came back as \(again).")
        guard let third = try parsed(second) else { throw Finding("What was decoded cannot be encoded: \(again).") }
        try require(encoded(third) == second, "\(again) came back as \(third).")
    }

    /// Adds the right check: if the fuzzer changed a body with its check, the check would hardly ever match.
    private static func withCheck(_ body: [UInt8], of function: FunctionCode) -> [UInt8] {
        var body = body
        if function.isChecked { body.appendCheck(from: 0) }
        return body
    }

    private static func decoded(_ function: FunctionCode, _ body: [UInt8]) -> Message? {
        try? Message.decode(function, body: body.span.bytes)
    }

    private static func encoded(_ message: Message) -> [UInt8] {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        return frame
    }

    private static func parsed(_ frame: [UInt8]) throws(Finding) -> Message? {
        let reading = try FrameReading(frame, arrivingUpTo: CollectionOfOne(frame.count))
        guard reading.fault == nil, reading.consumed == frame.count, reading.frames.count == 1,
            case .message(let message)? = reading.frames.first
        else { return nil }
        return message
    }
}

extension Message {
    /// The texts for people, which are cut and repaired.
    fileprivate var texts: [String] {
        switch self {
        case .hello(let hello): [hello.agent]
        case .welcome(let welcome): [welcome.agent, welcome.serverName]
        case .goodbye(let goodbye): [goodbye.message]
        case .result(let result): [result.message]
        case .outcome(let outcome): [outcome.message]
        default: []
        }
    }
}
