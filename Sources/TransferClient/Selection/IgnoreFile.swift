private import Glibc
private import TransferSystem

/// Patterns of entries that are not sent, in the ignore file's directory and all directories below, as in gitignore(5):
/// the last line that matches decides, and a line with `!` revokes what earlier lines ignore.
package struct IgnoreFile: Sendable {
    /// Why an ignore file cannot be used. Its directory is not sent then, because the file may exclude entries.
    struct Fault: Error {
        /// Continues a sentence whose subject is the ignore file.
        let message: String
    }

    /// The most bytes of a file: ten thousand lines of a hundred bytes are more than any real ignore file has.
    static let longest = 1 << 20

    private let lines: [IgnoreLine]

    /// Reads a file. Symbolic links are not followed.
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

    /// Parses the lines, and skips those that are no pattern.
    package init(_ text: String) {
        lines = text.unicodeScalars.split(separator: "\n").compactMap { IgnoreLine(Substring($0)) }
    }

    /// Whether a path is ignored; nil if no line matches.
    ///
    /// - Parameter path: the path from the ignore file's directory.
    package func ignores(_ path: some StringProtocol, isDirectory: Bool) -> Bool? {
        lines.last { (isDirectory || !$0.isForDirectories) && $0.pattern.matches(path) }.map { !$0.isNegated }
    }

    private static func read(_ name: String, in directory: SourceDirectory) throws(SystemError) -> [UInt8] {
        // O_NONBLOCK: opening a FIFO in the place of the file must not block this thread.
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
