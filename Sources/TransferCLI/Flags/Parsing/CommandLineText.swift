private import TransferModel

/// A command line that can be pasted into a shell.
struct CommandLineText {
    private let invocation: String

    /// The arguments after the name of the command.
    private let arguments: [String]

    /// The positions of the operands among the arguments.
    private let positions: [Int]

    init(_ invocation: String, _ arguments: [String], operandsAt positions: [Int]) {
        (self.invocation, self.arguments, self.positions) = (invocation, arguments, positions)
    }

    /// A command line with operands and no flags.
    init(_ command: Command, _ operands: [String]) {
        self.init(command.invocation, operands, operandsAt: Array(operands.indices))
    }

    /// The command line with an operand replaced.
    func replacing(_ operand: Int, with text: String) -> CommandLineText {
        guard positions.indices.contains(operand) else { return self }
        var arguments = arguments
        arguments[positions[operand]] = text
        return CommandLineText(invocation, arguments, operandsAt: positions)
    }

    /// The command line with an operand moved behind all other operands.
    func moving(_ operand: Int) -> CommandLineText {
        guard positions.indices.contains(operand), let last = positions.last else { return self }
        var arguments = arguments
        arguments.insert(arguments.remove(at: positions[operand]), at: last)
        return CommandLineText(invocation, arguments, operandsAt: positions)
    }

    /// The command line without a flag and its value.
    func without(_ flag: Flag) -> CommandLineText {
        var kept: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument.hasSameBytes(as: flag.spelling) {
                _ = rest.popFirst()
            } else if !argument.utf8.starts(with: "\(flag.spelling)=".utf8) {
                kept.append(argument)
            }
        }
        return CommandLineText(invocation, kept, operandsAt: [])
    }

    var text: String { ([invocation] + arguments.map(Self.quoted)).joined(separator: " ") }

    /// Quotes a word for bash, zsh and dash. Control characters are written in octal, which bash and zsh accept.
    static func quoted(_ word: String) -> String {
        guard word.escapedForDisplay.hasSameBytes(as: word), !word.utf8.contains(UInt8(ascii: "\\")) else {
            return "$'" + word.utf8.map(octal).joined() + "'"
        }
        let isPlain = !word.isEmpty && word.utf8.allSatisfy(isPlain) && word.utf8.first != UInt8(ascii: "=")
        return isPlain ? word : Shell.bash.quoted(word)
    }

    /// Whether a byte has no meaning to a shell.
    private static func isPlain(_ byte: UInt8) -> Bool {
        TOMLParser.isBare(byte) || "./:@%+=,".utf8.contains(byte)
    }

    private static func octal(_ byte: UInt8) -> String {
        guard !isPlain(byte) else { return String(Unicode.Scalar(byte)) }
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
