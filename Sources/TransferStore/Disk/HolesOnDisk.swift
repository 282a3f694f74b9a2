internal import CLinux
import Glibc
import TransferSystem

/// Where a file of a store has holes, which need not be read.
struct HolesOnDisk {
    private let disk: Disk
    private let file: Int32
    private var holes: FileHoles

    /// Of an open file. One that cannot be looked at has none.
    init(_ file: Int32, on disk: Disk) {
        (self.disk, self.file) = (disk, file)
        let status = try? disk.status(file)
        holes = FileHoles(size: status?.st_size ?? 0, blocks: status?.st_blocks ?? 0) {
            (position, whence) throws(SystemError) in
            try disk.seek(file, from: position, whence)
        }
    }

    /// Bytes that it takes on its disk, as far as that can be told; nothing where it has no holes.
    var filled: UInt64? { holes.filled }

    /// What begins at an offset.
    mutating func run(at offset: UInt64) -> FileHoles.Run {
        holes.run(at: offset) { [disk, file] (position, whence) throws(SystemError) in
            try disk.seek(file, from: position, whence)
        }
    }
}
