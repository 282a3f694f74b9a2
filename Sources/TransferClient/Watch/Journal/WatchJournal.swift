internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// The file that remembers what a watch has had acknowledged, open and locked: two watches of one directory would send
/// everything twice. It is only appended to and is never synced. What is lost or damaged of it is asked about again,
/// which stores nothing twice.
///
/// Used by one thread.
final class WatchJournal {
    enum Fault: Error, Equatable {
        /// Another process has it.
        case taken
        case failed(SystemError)
    }

    private let path: String
    private(set) var descriptor: Descriptor
    private var lines = 0
    private(set) var known = KnownFiles()

    /// Bytes. A million files take a tenth of it; what is longer is not this program's, and is begun anew.
    static let longest = 512 << 20

    /// Lines that say nothing any more, beside as many as say something, before it is written anew.
    private static let mostSurplus = 1024

    /// - Parameter path: of the file; it and its folder are made where they are missing.
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

    /// Whoever has a copy of the descriptor would keep the lock: a child that is being started, until it executes its program.
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

    /// A scan went through the whole directory: if too much of the journal says nothing any more, it is written anew.
    func endScan() throws(SystemError) {
        var seen = known
        seen.forgetUnseen()
        // What leaves nothing may be a card that is not in.
        guard seen.count > 0, lines > 2 * seen.count + Self.mostSurplus else { return }
        known = seen
        try compact()
    }

    /// - Returns: whether all of it was understood.
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

    /// Writes it anew beside itself; the new one is locked before it has the name.
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

    /// Whoever had it may have written it anew between the opening and the lock.
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
