import TransferModel
import TransferProtocol

/// What a client and a server say to each other on one connection, frame by frame, as `Tests/golden/conversation.txt` keeps
/// it: `=` begins a connection, `-` a step, `!` says how it is played, `>` is a frame of the client and `<` one of the server,
/// each with its bytes below it.
struct RecordedConversation: Equatable {
    /// Frames that the client says, and those that the server has to answer before the client goes on.
    struct Step: Equatable {
        var title: String
        /// Whether all of it has to arrive together, because what is answered depends on that.
        var isAtOnce = false
        /// Whether the server begins to stop before the client speaks.
        var isAtTheEnd = false
        var said: [[UInt8]] = []
        var answers: [[UInt8]] = []
    }

    var title: String
    var steps: [Step] = []
}

extension RecordedConversation.Step {
    private static let atOnce = "at once"
    private static let atTheEnd = "the server begins to stop"

    /// Bytes in one line.
    private static let width = 32

    var text: String {
        var lines = ["", "- \(title)"]
        if isAtOnce { lines.append("! \(Self.atOnce)") }
        if isAtTheEnd { lines.append("! \(Self.atTheEnd)") }
        lines += said.flatMap { Self.lines(">", $0) } + answers.flatMap { Self.lines("<", $0) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(_ mark: String, _ frame: [UInt8]) -> [String] {
        let rows = stride(from: 0, to: frame.count, by: width).map { start in
            "  "
                + frame[start..<min(frame.count, start + width)].map { String(hexadecimal: [$0]) }
                .joined(separator: " ")
        }
        return ["\(mark) \(RecordedFrame(frame).comment)"] + rows
    }

    /// Takes a line as `text` has it.
    mutating func take(_ line: Substring) throws {
        let rest = line.dropFirst(2)
        switch line.prefix(2) {
        case "! " where rest == Self.atOnce: isAtOnce = true
        case "! " where rest == Self.atTheEnd: isAtTheEnd = true
        case "> ": said.append([])
        case "< ": answers.append([])
        case "  ":
            guard let bytes = [UInt8](hexadecimal: rest.filter { $0 != " " }), !said.isEmpty else { fallthrough }
            if answers.isEmpty { said[said.count - 1] += bytes } else { answers[answers.count - 1] += bytes }
        default: throw RawClient.Failure(description: "no line of a conversation: \(line)")
        }
    }
}

extension RecordedConversation {
    /// As the file has them.
    static func text(_ conversations: [RecordedConversation]) -> String {
        conversations.map { "= \($0.title)\n" + $0.steps.map(\.text).joined() }.joined(separator: "\n")
    }

    /// Reads what `text` writes; lines in front of the first conversation are for people.
    static func read(_ text: String) throws -> [RecordedConversation] {
        var conversations: [RecordedConversation] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("= ") {
                conversations.append(RecordedConversation(title: String(line.dropFirst(2))))
                continue
            }
            guard var last = conversations.popLast() else { continue }
            if line.hasPrefix("- ") {
                last.steps.append(Step(title: String(line.dropFirst(2))))
            } else if var step = last.steps.popLast() {
                try step.take(line)
                last.steps.append(step)
            }
            conversations.append(last)
        }
        return conversations
    }
}
