import Glibc
import TransferPorts
import TransferStore

/// Digest of everything that happened in a run: two runs are the same if their digests are. The digest omits the
/// numbers of descriptors, which other code in the process uses, too, and the names of temporary directories.
final class Trace {
    /// FNV-1a with 64 bits.
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325

    func add(_ number: Int) {
        digest = (digest ^ UInt64(bitPattern: Int64(number))) &* 0x0000_0100_0000_01b3
    }

    func add(_ text: String) {
        for byte in text.utf8 { add(Int(byte)) }
    }

    /// - Parameter result: the return value of the call.
    func add(_ call: DiskCall, _ result: Int) {
        switch call {
        case .open(let directory, let name, let flags):
            add(1, directory, name)
            add(Int(flags))
            return add(min(result, 0))
        case .makeDirectory(let directory, let name): add(2, directory, name)
        case .status(let directory, let name): add(3, directory, name)
        case .link(_, let directory, let name): add(4, directory, name)
        case .linkName(_, let name, let directory, let newName):
            add(Self.withoutChance(name))
            add(28, directory, newName)
        case .rename(_, let name, let directory, let newName, _):
            add(Self.withoutChance(name))
            add(5, directory, newName)
        case .exchange(_, let name, let directory, let otherName):
            add(Self.withoutChance(name))
            add(28, directory, otherName)
        case .unlink(let directory, let name): add(6, directory, name)
        case .removeDirectory(let directory, let name): add(7, directory, name)
        case .write(_, let bytes, let offset), .copy(_, let bytes, let offset):
            add(8 + bytes.count)
            add(Int(offset))
        case .truncate(_, let size): add(9 + Int(size))
        case .reserve(_, let size): add(10 + Int(size))
        case .examine: add(11)
        case .read: add(12)
        case .seek: add(13)
        case .release: add(14)
        case .clear(_, let range):
            add(27 + Int(range.lowerBound))
            add(Int(range.upperBound))
        case .setTimes: add(15)
        case .setOwner: add(21)
        case .setExtended: add(22)
        case .makeLink: add(23)
        case .readLink: add(24)
        case .setLink: add(25)
        case .clone: add(26)
        case .setPermissions: add(16)
        case .startWriting: add(17)
        case .checkWritten: add(18)
        case .sync: add(19)
        case .syncAll: add(20)
        }
        add(result)
    }

    private func add(_ kind: Int, _ directory: Int32, _ name: String) {
        add(kind)
        if directory != AT_FDCWD { add(Self.withoutChance(name)) }
    }

    /// Removes random digits, which differ between runs, from a name. Mail content has random digits at the end of the
    /// name, for each attempt (`RelativePath.mail(_:)`), and so has the temporary second name of a file that takes a
    /// path from another file (`StagedFile.scratchName`). All ids of the simulation have zeros behind their first
    /// digit.
    static func withoutChance(_ name: String) -> String {
        let sizeOfID = 32
        let id = name.utf8.prefix(sizeOfID)
        if name.utf8.count == sizeOfID + 1 + 16, name.utf8.dropFirst(sizeOfID).first == UInt8(ascii: "-") {
            return String(decoding: id, as: UTF8.self)
        }
        guard name.hasSuffix("-0.part"), id.dropFirst().prefix(8).contains(where: { $0 != UInt8(ascii: "0") }) else {
            return name
        }
        return "-0.part"
    }
}
