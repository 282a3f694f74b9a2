internal import CLinux
import Glibc
package import TransferModel
package import TransferSystem

/// A stored file, open to be sent. Belongs to one task at a time.
package final class StoredContent {
    /// When it was opened.
    package let attributes: StoredAttributes

    private let descriptor: Descriptor
    private let disk: Disk
    private lazy var holes = HolesOnDisk(descriptor.number, on: disk)

    init(_ descriptor: consuming Descriptor, _ attributes: StoredAttributes, on disk: Disk) {
        self.descriptor = descriptor
        self.attributes = attributes
        self.disk = disk
    }

    /// Whether the content is what it was when the file was opened. Other names, rights and owners do not matter: the file may have
    /// been replaced, moved or removed meanwhile, and the open one is whole.
    package var isUnchanged: Bool {
        (try? ContentVersion(of: descriptor.number))?.hasSameContent(as: attributes.version) ?? false
    }

    /// Reads as much as there is at an offset, up to a buffer full.
    ///
    /// - Returns: bytes; less than a buffer full only at the end of the file.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try disk.read(descriptor.number, into: rest, at: offset + UInt64(filled))
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    /// Bytes that it takes on its disk, as far as that can be told; nothing where it has no holes.
    package var filled: UInt64? { holes.filled }

    /// What begins at an offset: bytes of a hole, or data.
    package func run(at offset: UInt64) -> FileHoles.Run { holes.run(at: offset) }

    /// Lets a file that is being made share all of the content, where the file system can.
    ///
    /// - Returns: false where it cannot.
    package func clone(into staged: StagedFile) throws(Failure) -> Bool {
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
