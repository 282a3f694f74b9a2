internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// A stored file, open to be sent.
final class StoredContent: ReadableContent {
    package let attributes: StoredAttributes

    private let name: RelativePath
    private let descriptor: Descriptor
    private let disk: Disk
    private lazy var holes = HolesOnDisk(descriptor.number, on: disk)

    /// - Parameter name: what failures call it.
    init(_ descriptor: consuming Descriptor, _ attributes: StoredAttributes, named name: RelativePath, on disk: Disk) {
        self.descriptor = descriptor
        self.name = name
        self.attributes = attributes
        self.disk = disk
    }

    package var isUnchanged: Bool {
        (try? ContentVersion(of: descriptor.number))?.hasSameContent(as: attributes.version) ?? false
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
        do throws(SystemError) { return try readBytes(into: buffer, at: offset) } catch {
            throw Failure(error, reading: name)
        }
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
            // Of another file system, or of one that cannot (ioctl_ficlonerange(2)).
            guard ![EOPNOTSUPP, ENOTTY, EXDEV, EINVAL, ENOSYS, EPERM, ETXTBSY].contains(error.errno) else {
                return false
            }
            throw Failure(error, doing: "copy the content")
        }
    }

    /// Tells the kernel that all of it will be read, one after the other.
    package func expectAll() {
        posix_fadvise(descriptor.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }
}
