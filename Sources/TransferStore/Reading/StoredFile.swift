internal import CLinux
import Glibc
import TransferCodec
package import TransferModel
import TransferPorts
package import TransferSystem

/// A stored file, open to be read.
package final class StoredFile: Sendable {
    /// When it was opened.
    package let version: ContentVersion

    /// When its content, its names or its rights were last changed, as far as it was when it was opened; UTC, in nanoseconds
    /// since 1970.
    package let changed: Int64

    private let descriptor: Descriptor
    private let disk: Disk

    /// The descriptor, for as long as the file is held.
    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor, on disk: Disk) throws(SystemError) {
        let identity = FileIdentity(try disk.status(descriptor.number))
        version = ContentVersion(identity)
        changed = identity.changed
        self.descriptor = descriptor
        self.disk = disk
    }

    /// Whether the content is what it was when the file was opened, whatever names, rights and owners it has by now.
    package var isUnchanged: Bool {
        disk.version(descriptor.number)?.hasSameContent(as: version) ?? false
    }

    /// Whether nothing of it has changed since it was opened, its names and rights included.
    var isTheSame: Bool { disk.version(descriptor.number) == version }

    /// Makes its content durable, as far as that is not.
    package func sync() throws(SystemError) { try disk.sync(descriptor.number) }

    /// Reads all of it but its holes, from the disk and not from what memory has of it, where the kernel lets go of that; and leaves
    /// nothing there for others to be pushed out.
    ///
    /// - Parameters:
    ///   - buffer: to read into.
    ///   - progress: is told of every piece, in bytes; ends it where it throws.
    /// - Throws: what read(2) says.
    package func digest(
        _ function: DigestFunction, through buffer: UnsafeMutableRawBufferPointer,
        progress: (Int) throws(SystemError) -> Void
    ) throws(SystemError) -> Digest {
        let number = descriptor.number
        posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
        defer { posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED) }
        posix_fadvise(number, 0, 0, POSIX_FADV_SEQUENTIAL)
        let digester = ContentDigester(function)
        var holes = HolesOnDisk(number, on: disk)
        while true {
            let run = holes.run(at: digester.size)
            guard !run.isHole else {
                let zeros = ZeroBytes.prefix(Int(clamping: run.count))
                digester.update(zeros) { _, _ in }
                try progress(zeros.count)
                continue
            }
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: run.count)))
            let count = try disk.read(number, into: piece, at: digester.size)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: piece[..<count])) { _, _ in }
            try progress(count)
        }
    }
}
