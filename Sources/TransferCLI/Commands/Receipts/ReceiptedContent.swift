private import CLinux
private import Glibc
private import TransferCodec
internal import TransferModel
internal import TransferSystem

/// The files with which receipts are compared: a directory in which the paths of receipts are looked up, or one file
/// for all receipts.
struct ReceiptedContent {
    private let path: String
    private let isDirectory: Bool

    /// Bytes for each read(2).
    private static let readSize = 1 << 20

    init(_ path: String) throws(SystemError) {
        var status = stat()
        try system("stat '\(path.escapedForDisplay)'") { stat(path, &status) }
        self.path = path
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }

    /// Compares a file with a receipt.
    ///
    /// - Parameters:
    ///   - name: the path in the receipt.
    ///   - size: the size in the receipt, in bytes.
    /// - Returns: the difference as a phrase; nil if the content is the same.
    func difference(of name: RelativePath, from expected: Digest, size: UInt64) -> String? {
        let file = isDirectory ? "\(path)/\(name.string)" : path
        do throws(SystemError) {
            // Symbolic links are not followed, because the server never stores a file through one. Opening a FIFO would
            // block.
            let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (isDirectory ? clinux_o_nofollow : 0)
            let descriptor = Descriptor(try system("open") { clinux_openat(AT_FDCWD, file, flags, 0) })
            let number = descriptor.number
            var status = stat()
            try system("fstat") { fstat(number, &status) }
            guard status.st_mode & S_IFMT == S_IFREG else { return "it is not a file" }
            guard UInt64(status.st_size) == size else {
                return "it has \(status.st_size) bytes; the receipt says \(size)"
            }
            let digest = try Self.digest(of: descriptor, expected.algorithm.function)
            return digest == expected
                ? nil : "it has other content: \(digest); the receipt says \(expected)"
        } catch {
            return error.errno == ENOENT ? "it is not there" : "it cannot be read: \(error.reason)"
        }
    }

    private static func digest(
        of file: borrowing Descriptor, _ function: DigestFunction
    ) throws(SystemError) -> Digest {
        let number = file.number
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 64)
        defer { buffer.deallocate() }
        let digester = ContentDigester(function)
        while true {
            let count = try system("read") { read(number, buffer.baseAddress, buffer.count) }
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}
