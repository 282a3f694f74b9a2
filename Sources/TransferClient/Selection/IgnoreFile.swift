private import Glibc
private import TransferSystem

/// What is not to be sent of the directory that it is in, and of those below, as gitignore(5) has it: the last line that
/// matches decides, and `!` in front takes back what earlier lines said.
package struct IgnoreFile: Sendable {
    /// A file that is there and cannot be used; what it hides must not be sent by mistake.
    struct Fault: Error {
        /// Continues "Its ignore file".
        let message: String
    }

    /// Bytes. Ten thousand lines of a hundred are far more than anybody writes.
    static let longest = 1 << 20

    private let lines: [IgnoreLine]

    /// Reads a file, which is not a symbolic link.
    init(_ name: String, in directory: SourceDirectory) throws(Fault) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Self.read(name, in: directory)
        } catch {
            throw Fault(message: "cannot be read: \(error.reason)")
        }
        guard bytes.count <= Self.longest else { throw Fault(message: "has more than \(Self.longest) bytes") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Fault(message: "is not UTF-8") }
        self.init(text)
    }

    /// Every text says something or nothing.
    package init(_ text: String) {
        lines = text.unicodeScalars.split(separator: "\n").compactMap { IgnoreLine(Substring($0)) }
    }

    /// Whether it says of a path that it is ignored, or that it isn't; nothing when it says nothing.
    ///
    /// - Parameter path: from the directory that the file is in.
    package func ignores(_ path: some StringProtocol, isDirectory: Bool) -> Bool? {
        lines.last { (isDirectory || !$0.isForDirectories) && $0.pattern.matches(path) }.map { !$0.isNegated }
    }

    private static func read(_ name: String, in directory: SourceDirectory) throws(SystemError) -> [UInt8] {
        // O_NONBLOCK: a FIFO that took the place of the file must not hold this thread.
        let file = try directory.open(name, O_RDONLY | O_NONBLOCK)
        let number = file.number
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest + 1, alignment: 16)
        defer { buffer.deallocate() }
        var count = 0
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            let more = try system("read") { Glibc.read(number, rest.baseAddress, rest.count) }
            guard more > 0 else { break }
            count += more
        }
        return Array(buffer[..<count])
    }
}
