internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// A second name beside a source, for a moment. If the server doesn't see it beside the stored file, the two are in
/// different directories, so removing the source does not remove the stored file. Device and inode numbers cannot tell
/// this: they differ if a directory is shared over a network, and a file system in user space may make them up.
///
/// It is a hard link to the source if possible, so that it is on the same disk as the source in file systems that
/// spread one directory over several disks. Otherwise it is an empty file.
struct SourceWitness {
    let name: String
    private let directory: SourceDirectory

    /// The name that the source gets right before it is removed: the witness's name, followed by as much of the
    /// source's name as fits. Unlike a witness, which is always a second name, this may be the only name of a file.
    let takenName: String

    /// Tells people what the file is if it is ever left behind.
    private static let prefix = ".transfer-witness-"

    /// Number of hexadecimal digits after the prefix.
    private static let digitCount = 32
    /// Separates the digits from the source's name in `takenName`.
    private static let separator = UInt8(ascii: "-")

    /// Seconds after which a witness counts as left behind by a killed process: far longer than any question to a
    /// server takes.
    private static let lifetime: time_t = 3600

    /// The same for a renamed source (`takenName`), which exists only during a few calls to the file system.
    private static let takenLifetime: time_t = 60

    /// - Parameters:
    ///   - source: the name of the source in the directory.
    ///   - isFile: whether the source is a file. The witness of a link or folder is an empty file, because a server
    ///     does not necessarily show a second name of those.
    init(
        beside source: String, in directory: SourceDirectory, isFile: Bool = true, _ key: WitnessKey
    ) throws(SystemError) {
        self.directory = directory
        name = Self.prefix + (try key.makeNumber(in: directory)).description
        takenName = Self.takenName(name, source)
        guard !isFile || linkat(directory.number, source, directory.number, name, 0) != 0 else { return }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow
        close(try system("open") { clinux_openat(directory.number, name, flags, 0o600) })
    }

    private static func takenName(_ witness: String, _ source: String) -> String {
        let room = Int(NAME_MAX) - witness.utf8.count - 1
        var end = source.utf8.index(source.startIndex, offsetBy: room, limitedBy: source.endIndex) ?? source.endIndex
        // Cut between characters only.
        while end.samePosition(in: source.unicodeScalars) == nil { source.utf8.formIndex(before: &end) }
        return "\(witness)-\(source[..<end])"
    }

    /// - Throws: ENOENT if the witness was gone already. It can have been gone before the server looked for it, so the
    ///   server's answer proves nothing.
    func remove() throws(SystemError) {
        try directory.unlink(name)
    }

    /// Whether a name has the form of a witness's or renamed source's name; such files are not sent.
    static func isName(_ name: some StringProtocol) -> Bool { number(in: name) != nil }

    private static func number(in name: some StringProtocol) -> UploadID? {
        let bytes = name.utf8
        guard bytes.starts(with: prefix.utf8) else { return nil }
        let digits = bytes.dropFirst(prefix.utf8.count)
        let number = String(decoding: digits.prefix(digitCount), as: UTF8.self)
        guard number.utf8.count == digitCount, [nil, separator].contains(digits.dropFirst(digitCount).first),
            !number.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) })
        else { return nil }
        return UploadID(hexadecimal: number[...])
    }

    /// Clears away what a killed push of this user has left: removes an old witness, and gives a renamed source its
    /// name back. A witness is removed even if its file has no other name: then its user has removed the source since.
    ///
    /// - Parameters:
    ///   - key: the key that must have made the name; names made with another key are left alone.
    ///   - now: seconds since 1970.
    /// - Returns: the name to which a source was renamed; nil if no source was renamed.
    @discardableResult
    static func sweep(
        _ name: String, in directory: SourceDirectory, _ key: WitnessKey, at now: time_t = time(nil)
    ) -> String? {
        guard let number = number(in: name), key.hasMade(number, in: directory),
            let status = try? directory.status(name)
        else { return nil }
        let (form, age) = (status.st_mode & S_IFMT, now - status.st_ctim.tv_sec)
        if let source = source(of: name) {
            guard form == S_IFREG || form == S_IFLNK, age > takenLifetime else { return nil }
            return directory.rename(name, toFree: source)
        }
        if form == S_IFREG, age > lifetime { unlinkat(directory.number, name, 0) }
        return nil
    }

    /// Whether a name is that of a source that was renamed for its removal.
    static func isTaken(_ name: some StringProtocol) -> Bool { isName(name) && source(of: String(name)) != nil }

    /// - Returns: the source's original name, as far as `takenName` has it; nil for the name of a witness.
    private static func source(of name: String) -> String? {
        let source = name.utf8.dropFirst(prefix.utf8.count + digitCount + 1)
        return source.isEmpty ? nil : String(Substring(source))
    }
}

/// What a walk needs to give renamed sources their names back.
struct WitnessSweep: Sendable {
    let key: WitnessKey
    /// The time of the walk, in seconds since 1970.
    var time = Glibc.time(nil)
}
