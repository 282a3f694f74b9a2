internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// The file that remembers the acknowledged files of a watch, open and locked: two watches of one directory would send
/// everything twice. Lines are only appended, and never synced. If some are lost or damaged, the server is asked about
/// these files again, which stores nothing twice.
///
/// Used by one thread only.
final class WatchJournal {
    enum Fault: Error, Equatable {
        /// Another process has locked it.
        case taken
        case failed(SystemError)
    }

    private let path: String
    private(set) var descriptor: Descriptor
    private var lines = 0
    private(set) var known = KnownFiles()

    /// The most bytes of a journal. A million files take a tenth of this; a longer file was not written by this
    /// program, and is replaced.
    static let longest = 512 << 20

    /// The journal is rewritten when it has more outdated lines than files, by more than this number.
    private static let mostSurplus = 1024

    /// - Parameter path: path of the file, which is made with its folder if it is missing.
    init(_ path: String) throws(Fault) {
        self.path = path
        do throws(SystemError) {
            try OwnFile.makeFolder(OwnFile.folder(of: path))
            descriptor = try Self.open(path, O_RDWR | O_CREAT | O_APPEND)
        } catch {
            throw .failed(error)
        }
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0, Self.isUnder(path, descriptor.number) else {
            throw .taken
        }
        do throws(SystemError) {
            if try !read() { try compact() }
        } catch {
            throw .failed(error)
        }
    }

    /// Unlocks explicitly: a child process that is being started has a copy of the descriptor until it executes its
    /// program, and would keep the lock.
    deinit { flock(descriptor.number, LOCK_UN) }

    /// Remembers files, in one write.
    func keep(_ files: [(path: PathKey, file: KnownFiles.File)]) throws(SystemError) {
        var text: [UInt8] = []
        for (path, file) in files where known[path] != file {
            known.keep(path, file)
            text += JournalLine.write(path, file)
            lines += 1
        }
        guard !text.isEmpty else { return }
        try writeAll(text, to: descriptor.number)
    }

    func beginScan() {
        known.beginScan()
    }

    func finds(_ path: PathKey, _ file: KnownFiles.File) -> Bool { known.finds(path, file) }

    /// To be called when a scan went through the whole directory. Rewrites the journal if too many lines are outdated.
    func endScan() throws(SystemError) {
        var seen = known
        seen.forgetUnseen()
        // If no file was seen, a card may have been removed.
        guard seen.count > 0, lines > 2 * seen.count + Self.mostSurplus else { return }
        known = seen
        try compact()
    }

    /// - Returns: whether all lines were valid.
    private func read() throws(SystemError) -> Bool {
        guard let file = try OwnFile(reading: path, atMost: Self.longest), !file.isLonger,
            file.content.starts(with: JournalLine.header)
        else { return false }
        var isWhole = file.content.last == UInt8(ascii: "\n")
        for line in file.content.dropFirst(JournalLine.header.count).split(separator: UInt8(ascii: "\n")) {
            guard let (path, file) = JournalLine.read(line) else {
                isWhole = false
                continue
            }
            known.keep(path, file)
            lines += 1
        }
        return isWhole
    }

    /// Writes a new file beside the journal, and locks it before it gets the journal's name.
    private func compact() throws(SystemError) {
        let draft = path + ".new"
        let new = try Self.open(draft, O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
        let number = new.number
        try system("flock") { flock(number, LOCK_EX | LOCK_NB) }
        var text = JournalLine.header
        for (path, file) in known.all { text += JournalLine.write(path, file) }
        try writeAll(text, to: number)
        try system("rename") { rename(draft, path) }
        descriptor = new
        lines = known.count
    }

    /// Whether the path still has the file that was opened. Another process may have rewritten the journal before this
    /// one had the lock.
    private static func isUnder(_ path: String, _ number: Int32) -> Bool {
        var (own, there) = (stat(), stat())
        return fstat(number, &own) == 0 && lstat(path, &there) == 0 && own.st_dev == there.st_dev
            && own.st_ino == there.st_ino
    }

    private static func open(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor {
        Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, flags | O_CLOEXEC | clinux_o_nofollow, 0o600) })
    }
}
