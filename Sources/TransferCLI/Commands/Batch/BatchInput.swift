private import CLinux
private import Glibc
private import TransferModel
private import TransferSystem

/// A list of uploads, read from a file or from standard input before anything is sent.
struct BatchInput {
    /// The name of the file in messages.
    let name: String

    let bytes: [UInt8]

    /// Bytes for each read(2).
    private static let readSize = 256 << 10

    /// Most bytes of the input. Ten million paths of a hundred bytes are a gigabyte; a longer input is probably not a
    /// list.
    private static let longest = 1 << 30

    /// - Parameters:
    ///   - key: the flag whose value names the file; `-` is standard input.
    /// - Throws: `UsageError` if the file cannot be read or is too long.
    init(_ key: FlagKey<String?, Never>, _ arguments: ParsedArguments) throws(UsageError) {
        let flag = key.flag.spelling
        guard let path = arguments[key] else { throw arguments.error("'\(flag)' is required") }
        name = path == "-" ? "standard input" : path.escapedForDisplay
        do throws(SystemError) {
            bytes = try Self.read(path)
        } catch {
            throw arguments.error("\(flag): \(name) cannot be read: \(error.reason)")
        }
        guard bytes.count <= Self.longest else { throw arguments.error("\(flag): \(name) is too long for a list") }
    }

    private static func read(_ path: String) throws(SystemError) -> [UInt8] {
        let file = Descriptor(
            path == "-"
                ? try system("dup") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) }
                : try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) })
        let number = file.number
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 16)
        defer { buffer.deallocate() }
        var bytes: [UInt8] = []
        while bytes.count <= longest {
            let count = try system("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
