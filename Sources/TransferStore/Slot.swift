internal import CLinux
import Glibc
import TransferCodec
import TransferProtocol
import TransferSystem

/// A name in a directory that an upload wants, and whatever has it now.
struct Slot {
    let directory: DirectoryHandle
    let name: String

    /// Bytes read at once when content is compared.
    private static let readSize = 256 << 10

    func isDirectory() throws(StoreError) -> Bool {
        let status = try attempt("look at \(name.escapedForDisplay)") { () throws(SystemError) in
            try directory.status(name)
        }
        return status.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Whether a file with the content of the publication has the name, durably.
    func holds(_ publication: Publication) throws(StoreError) -> Bool {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            let status = try directory.status(name)
            guard let status, status.st_mode & S_IFMT == S_IFREG, UInt64(status.st_size) == publication.size,
                let file = try open(), try digest(of: file, publication.digest.algorithm.function) == publication.digest
            else { return false }
            let number = file.number
            try system("fsync") { fsync(number) }
            return true
        }
    }

    /// - Returns: nothing when the file is gone or may not be read: then it is not known to be the same.
    private func open() throws(SystemError) -> Descriptor? {
        do throws(SystemError) {
            return try directory.openFile(name, flags: O_RDONLY | O_NONBLOCK)
        } catch {
            switch error.errno {
            case ENOENT, EACCES, EPERM, ELOOP: return nil
            default: throw error
            }
        }
    }

    private func digest(of file: borrowing Descriptor, _ function: DigestFunction) throws(SystemError) -> Digest {
        let digester = ContentDigester(function)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let number = file.number
        while true {
            let count = try system("read") { read(number, buffer.baseAddress, buffer.count) }
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}
