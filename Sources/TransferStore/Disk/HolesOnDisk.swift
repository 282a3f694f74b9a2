internal import CLinux
import Glibc
import TransferSystem

/// The holes of a store's file, which need not be read.
struct HolesOnDisk {
    private let disk: Disk
    private let file: Int32
    private var holes: FileHoles

    /// The holes of an open file. A file that cannot be examined counts as one without holes.
    init(_ file: Int32, on disk: Disk) {
        (self.disk, self.file) = (disk, file)
        let status = try? disk.status(file)
        holes = FileHoles(size: status?.st_size ?? 0, blocks: status?.st_blocks ?? 0) {
            (position, whence) throws(SystemError) in
            try disk.seek(file, from: position, whence)
        }
    }

    /// The bytes that the file takes on its disk, as far as known; nil if it has no holes.
    var filled: UInt64? { holes.filled }

    /// The run of data or hole at an offset.
    mutating func run(at offset: UInt64) -> FileHoles.Run {
        holes.run(at: offset) { [disk, file] (position, whence) throws(SystemError) in
            try disk.seek(file, from: position, whence)
        }
    }
}
