private import TransferModel

/// A command line that can be given to a shell as it is printed.
struct CommandLineText {
    private let invocation: String

    /// Behind the name of the command.
    private let arguments: [String]

    /// Where the operands stand among the arguments.
    private let positions: [Int]

    init(_ invocation: String, _ arguments: [String], operandsAt positions: [Int]) {
        (self.invocation, self.arguments, self.positions) = (invocation, arguments, positions)
    }

    /// With operands alone.
    init(_ command: Command, _ operands: [String]) {
        self.init(command.invocation, operands, operandsAt: Array(operands.indices))
    }

    /// The same with another operand in the place of one.
    func replacing(_ operand: Int, with text: String) -> CommandLineText {
        guard positions.indices.contains(operand) else { return self }
        var arguments = arguments
        arguments[positions[operand]] = text
        return CommandLineText(invocation, arguments, operandsAt: positions)
    }

    /// The same with an operand behind all others.
    func moving(_ operand: Int) -> CommandLineText {
        guard positions.indices.contains(operand), let last = positions.last else { return self }
        var arguments = arguments
        arguments.insert(arguments.remove(at: positions[operand]), at: last)
        return CommandLineText(invocation, arguments, operandsAt: positions)
    }

    /// The same without a flag that takes a value.
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

    /// As bash, zsh and dash take it. What could steer a terminal is written in octal, which bash and zsh take.
    static func quoted(_ word: String) -> String {
        guard word.escapedForDisplay.hasSameBytes(as: word), !word.utf8.contains(UInt8(ascii: "\\")) else {
            return "$'" + word.utf8.map(octal).joined() + "'"
        }
        let isPlain = !word.isEmpty && word.utf8.allSatisfy(isPlain) && word.utf8.first != UInt8(ascii: "=")
        return isPlain ? word : Shell.bash.quoted(word)
    }

    /// Whether a byte means nothing to a shell.
    private static func isPlain(_ byte: UInt8) -> Bool {
        TOMLParser.isBare(byte) || "./:@%+=,".utf8.contains(byte)
    }

    private static func octal(_ byte: UInt8) -> String {
        guard !isPlain(byte) else { return String(Unicode.Scalar(byte)) }
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
