internal import CLinux
import Glibc
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// A name in a directory that an upload wants, and whatever has it now.
struct TargetName {
    let directory: DirectoryHandle
    let name: String

    /// Bytes read at once when content is compared.
    private static let readSize = 256 << 10

    /// Of what has the name, and not of what a link leads to.
    func status() throws(Failure) -> stat? {
        try attempt("look at \(name.escapedForDisplay)") { () throws(SystemError) in try directory.status(name) }
    }

    /// The file with the content of the publication that has the name, durable or not.
    ///
    /// - Returns: nothing when there is something else or nothing.
    func find(
        _ publication: Publication, _ comparison: inout ContentComparison
    ) throws(Failure) -> FoundFile? {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: publication.size), try comparison.isSame(file) else { return nil }
            return file
        }
    }

    /// As above, for content that is only known by these.
    func find(size: UInt64, digest expected: Digest) throws(Failure) -> FoundFile? {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: size), try digest(of: file, expected.algorithm.function) == expected else {
                return nil
            }
            return file
        }
    }

    /// The file that has the name, if it is this version.
    func file(_ version: ContentVersion) throws(Failure) -> FoundFile? {
        try attempt("look at \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(size: version.size), file.version == version else { return nil }
            return file
        }
    }

    /// - Returns: nothing when there is no file of that size.
    private func open(size: UInt64) throws(SystemError) -> FoundFile? {
        guard let status = try directory.status(name), status.st_mode & S_IFMT == S_IFREG,
            UInt64(clamping: status.st_size) == size, let file = try open(), isHere(file)
        else { return nil }
        return file
    }

    /// A file that is mounted there is not the directory's: it goes with the mount, and may be what an upload was read from.
    private func isHere(_ file: FoundFile) -> Bool {
        clinux_mount_id(file.number) == clinux_mount_id(directory.number)
    }

    /// Whether nothing has the name.
    func isFree() throws(Failure) -> Bool { try status() == nil }

    /// What the file is that has the name; nothing when there is none, or something else.
    func version() throws(Failure) -> ContentVersion? {
        try status().flatMap { $0.isFile ? ContentVersion($0) : nil }
    }

    /// Whether the file can be read and has other content.
    ///
    /// - Parameter version: what it has to be before its content is looked at.
    func differs(from expected: Digest, as version: ContentVersion) throws(Failure) -> Bool {
        try attempt("compare with \(name.escapedForDisplay)") { () throws(SystemError) in
            guard let file = try open(), file.version == version else { return false }
            return try digest(of: file, expected.algorithm.function) != expected
        }
    }

    /// - Returns: nothing when the file is gone or may not be read: then it is not known to be the same.
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
