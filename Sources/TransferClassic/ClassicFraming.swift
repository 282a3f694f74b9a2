/// One of the wires that programs from before this protocol speak; `docs/DIALECTS.md` describes them.
package enum ClassicFraming: Hashable, Sendable {
    /// Version 1 of the header of seven bytes.
    case header7
    /// Size, type, content.
    ///
    /// - Parameters:
    ///   - total: what the size counts.
    ///   - isAnswered: whether the client reads answers. One that does not must not get any: when it closes with bytes
    ///     unread, its system throws away what is still on its way to us.
    case sized(total: SizedTotal, isAnswered: Bool)
    /// A header of 37 characters.
    case tagged37
    /// A head in JSON, a line end, a body.
    case jsonline
    /// Texts in buffers of 1,024 bytes.
    case text

    /// What cannot be made of a name and options; a sentence.
    package struct Fault: Error, Equatable, Sendable {
        package let message: String
    }

    /// All of them, with their usual options.
    package static let all: [ClassicFraming] = [
        .header7, .sized(total: .whole, isAnswered: true), .tagged37, .jsonline, .text,
    ]

    /// The name that people choose it by.
    package var name: String {
        switch self {
        case .header7: "header7"
        case .sized: "sized"
        case .tagged37: "tagged37"
        case .jsonline: "jsonline"
        case .text: "text"
        }
    }

    /// The port that its programs have built in, where there is one.
    package var defaultPort: UInt16? {
        switch self {
        case .sized: 5288
        case .jsonline: 8088
        case .text: 1024
        case .header7, .tagged37: nil
        }
    }

    /// Bytes that must be shown at once for each step to be taken: the longest thing that is only taken whole.
    package var window: Int {
        switch self {
        case .header7: Header7Header.size + Int(UInt16.max)
        case .sized: SizedConversation.headSize
        case .tagged37: ClassicLimits.json + 1
        case .jsonline: ClassicLimits.head + 2
        case .text: TextConversation.bufferSize
        }
    }

    /// Whether its clients have names and send to one another. They say that they are there as long as they are, so silence
    /// of any of them is a fault at any time.
    package var isChat: Bool { self == .jsonline }

    /// The server's side of one connection.
    package func conversation() -> any ClassicConversation {
        switch self {
        case .header7: Header7Conversation()
        case .sized(let total, let isAnswered): SizedConversation(total: total, isAnswered: isAnswered)
        case .tagged37: Tagged37Conversation()
        case .jsonline: JSONLineConversation()
        case .text: TextConversation()
        }
    }
}

extension ClassicFraming {
    /// The framing of that name.
    ///
    /// - Parameter options: of `sized` alone: `total` is `whole` (the default) or `content`, `answer` is `yes` (the default)
    ///   or `no`. The last of two counts.
    /// - Throws: `Fault` for another name or option.
    package init(name: String, options: [(name: String, value: String)] = []) throws(Fault) {
        guard let framing = Self.all.first(where: { $0.name == name }) else {
            throw Fault(
                message: "There is no framing '\(name)'; there are \(Self.all.map(\.name).joined(separator: ", ")).")
        }
        self = framing
        for option in options { try set(option.name, option.value) }
    }

    private mutating func set(_ option: String, _ value: String) throws(Fault) {
        guard case .sized(let total, let isAnswered) = self, option == "total" || option == "answer" else {
            throw Fault(message: "The framing \(name) has no option '\(option)'.")
        }
        switch (option, value) {
        case ("total", _):
            guard let total = SizedTotal(rawValue: value) else { throw Self.fault(option, "whole or content") }
            self = .sized(total: total, isAnswered: isAnswered)
        case (_, "yes"), (_, "no"): self = .sized(total: total, isAnswered: value == "yes")
        default: throw Self.fault(option, "yes or no")
        }
    }

    private static func fault(_ option: String, _ values: String) -> Fault {
        Fault(message: "The option '\(option)' of sized is \(values).")
    }
}
