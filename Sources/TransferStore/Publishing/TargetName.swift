internal import CLinux
import Glibc
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// The name in a directory under which an upload is to be published, and the file that has it now.
struct TargetName {
    let directory: DirectoryHandle
    let name: String

    /// Bytes read at once when content is compared.
    private static let readSize = 256 << 10

    /// The status of the file, link or directory at the name; links are not followed.
    func status() throws(Failure) -> stat? {
        try attempt("look at \(name.escapedForDisplay)") { () throws(SystemError) in try directory.status(name) }
    }

    /// The file at the name if it has the content of the publication, durable or not.
    ///
    /// - Returns: nil if the name is free, or its file has other content.
    func find(
        _ publication: Publication, _ comparison: inout ContentComparison
    ) throws(Failure) -> FoundFile? {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: publication.size), try comparison.isSame(file) else { return nil }
            return file
        }
    }

    /// The file at the name if it has this size and digest, durable or not.
    func find(size: UInt64, digest expected: Digest) throws(Failure) -> FoundFile? {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: size), try digest(of: file, expected.algorithm.function) == expected else {
                return nil
            }
            return file
        }
    }

    /// The file at the name, if it is this version.
    func file(_ version: ContentVersion) throws(Failure) -> FoundFile? {
        try attempt("look at \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: version.size), file.version == version else { return nil }
            return file
        }
    }

    /// - Returns: nil if the name has no file of that size.
    private func open(size: UInt64) throws(SystemError) -> FoundFile? {
        guard let status = try directory.status(name), status.st_mode & S_IFMT == S_IFREG,
            UInt64(clamping: status.st_size) == size, let file = try open(), isHere(file)
        else { return nil }
        return file
    }

    /// A file that is mounted over the name does not belong to the directory: it disappears with the mount, and can be
    /// the source of the upload.
    private func isHere(_ file: FoundFile) -> Bool {
        clinux_mount_id(file.number) == clinux_mount_id(directory.number)
    }

    /// Whether the name does not exist.
    func isFree() throws(Failure) -> Bool { try status() == nil }

    /// The version of the file at the name; nil if there is no regular file.
    func version() throws(Failure) -> ContentVersion? {
        try status().flatMap { $0.isFile ? ContentVersion($0) : nil }
    }

    /// Whether the file can be read and has other content.
    ///
    /// - Parameter version: the version that the file must have before its content is read.
    func differs(from expected: Digest, as version: ContentVersion) throws(Failure) -> Bool {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(), file.version == version else { return false }
            return try digest(of: file, expected.algorithm.function) != expected
        }
    }

    /// - Returns: nil if the file is gone or may not be read; then it cannot be compared.
    private func open() throws(SystemError) -> FoundFile? {
        do throws(SystemError) {
            return FoundFile(try directory.openFile(name, flags: O_RDONLY | O_NONBLOCK), on: directory.disk)
        } catch {
            switch error.errno {
            case ENOENT, EACCES, EPERM, ELOOP: return nil
            default: throw error
            }
        }
    }

    private func digest(of file: FoundFile, _ function: DigestFunction) throws(SystemError) -> Digest {
        let digester = ContentDigester(function)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            let count = try directory.disk.read(file.number, into: buffer)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}
