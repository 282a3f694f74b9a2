internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// An open stored file, to be sent or compared with its acknowledged digest.
final class StoredContent: ScrubContent, SyncableFile {
    package let attributes: StoredAttributes

    private let name: RelativePath?
    private let descriptor: Descriptor
    private let disk: Disk
    private lazy var holes = HolesOnDisk(descriptor.number, on: disk)

    /// The descriptor, open as long as this object lives.
    var number: Int32 { descriptor.number }

    package var fileDescriptor: Int32? { descriptor.number }

    /// Opens a file by its name. The caller has checked that it is a file, because opening a device can have side
    /// effects.
    ///
    /// - Parameter shown: the path in the sentences of failures; nil to leave it out.
    /// - Throws: ENOENT if it is no file any more.
    init(_ name: String, in directory: DirectoryHandle, as shown: RelativePath?) throws(SystemError) {
        descriptor = try directory.openFile(name, flags: O_RDONLY | O_NONBLOCK)
        disk = directory.disk
        self.name = shown
        // The name may have another entry by now.
        guard let attributes = StoredAttributes(try disk.status(descriptor.number)), !attributes.isDirectory
        else { throw SystemError(errno: ENOENT, call: "open") }
        self.attributes = attributes
    }

    package var changed: Int64 { attributes.version.touch }

    package var isUnchanged: Bool {
        disk.version(descriptor.number)?.hasSameContent(as: attributes.version) ?? false
    }

    /// Whether its content, names and permissions are unchanged since it was opened.
    var isTheSame: Bool { disk.version(descriptor.number) == attributes.version }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
        do throws(SystemError) { return try readBytes(into: buffer, at: offset) } catch { throw failure(error) }
    }

    func readBytes(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try disk.read(descriptor.number, into: rest, at: offset + UInt64(filled))
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    package var filled: UInt64? { holes.filled }

    package func run(at offset: UInt64) -> FileHoles.Run { holes.run(at: offset) }

    package func share(with staged: any StagedContent) throws(Failure) -> Bool {
        guard let staged = staged as? StagedFile else { return false }
        do throws(SystemError) {
            try disk.clone(descriptor.number, into: staged.number)
            return true
        } catch {
            // The files are on different file systems, or on one that does not support it (ioctl_ficlonerange(2)).
            guard ![EOPNOTSUPP, ENOTTY, EXDEV, EINVAL, ENOSYS, EPERM, ETXTBSY].contains(error.errno) else {
                return false
            }
            throw Failure(error, doing: "copy the content")
        }
    }

    package func sync() throws(Failure) {
        do throws(SystemError) { try disk.sync(descriptor.number) } catch { throw failure(error) }
    }

    /// Advises the kernel that the file will be read sequentially.
    package func expectAll() {
        posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Advises the kernel to drop pages that are on disk and not mapped.
    package func dropMemory() {
        posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_DONTNEED)
    }

    private func failure(_ error: SystemError) -> Failure {
        name.map { Failure(error, reading: $0) } ?? Failure(.storageFailed, error.description)
    }
}
