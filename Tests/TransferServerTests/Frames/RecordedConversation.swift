import TransferModel
import TransferProtocol

/// The frames of a client and a server on one connection, as `Tests/golden/conversation.txt` keeps them: `=` begins a
/// connection and `-` a step, `!` says how the step is played, `>` is a frame of the client and `<` one of the server,
/// each with its bytes below.
struct RecordedConversation: Equatable {
    /// Frames that the client sends, and those that the server has to answer before the client continues.
    struct Step: Equatable {
        var title: String
        /// Whether the server has to receive the frames together, because its answers depend on that.
        var isAtOnce = false
        /// Whether the server begins to stop before the client sends the frames.
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

    /// Number of bytes on one line.
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

    /// Reads a line that `text` has written.
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
    /// Formats conversations as the file contains them.
    static func text(_ conversations: [RecordedConversation]) -> String {
        conversations.map { "= \($0.title)\n" + $0.steps.map(\.text).joined() }.joined(separator: "\n")
    }

    /// Reads the output of `text`. Lines before the first conversation are for people and are ignored.
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
