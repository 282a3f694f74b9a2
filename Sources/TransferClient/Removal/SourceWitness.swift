internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// A second name beside a source, for a moment. If the server doesn't see it beside the stored file, then the two are in
/// different directories, and so what is removed here stays there. No look at numbers of devices and inodes could tell:
/// they differ where a directory is shared over a network, and a file system in user space may make them up.
///
/// It is a link to the source where that can be made, so that it is where the source is also in file systems that spread
/// one directory over several disks; elsewhere it is an empty file.
struct SourceWitness {
    let name: String
    private let directory: SourceDirectory

    /// What the source is called for the moment before it goes: the witness's name, with its own behind it as far as there is room.
    /// Unlike a witness, which is always a second name, it may be the only name of something.
    let takenName: String

    /// So that people see what it is, if it is ever left behind.
    private static let prefix = ".transfer-witness-"

    /// Hexadecimal digits behind that.
    private static let digitCount = 32
    /// Behind them in the name of what was taken away.
    private static let separator = UInt8(ascii: "-")

    /// Seconds after which a witness that is left belongs to nobody: far longer than a server is asked.
    private static let lifetime: time_t = 3600

    /// The same of what was taken away, which takes a few calls to the file system.
    private static let takenLifetime: time_t = 60

    /// - Parameters:
    ///   - source: the name of the source in the directory.
    ///   - isFile: whether the source is a file; what else it is, a server may not show by another name.
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
        // No character is cut.
        while end.samePosition(in: source.unicodeScalars) == nil { source.utf8.formIndex(before: &end) }
        return "\(witness)-\(source[..<end])"
    }

    /// - Throws: ENOENT when it was gone: then nobody knows since when, and that the server didn't see it means nothing.
    func remove() throws(SystemError) {
        try directory.unlink(name)
    }

    /// Whether a name was made here, so that nobody takes it for a file to be sent.
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

    /// Clears away what a killed push of this user has left behind: removes an old witness, and gives a source its name back that was
    /// taken away. A witness goes also when it is the only name that is left: the one who has removed the source since wanted that gone.
    ///
    /// - Parameters:
    ///   - key: that the name was made with; a name of another one is left alone.
    ///   - now: seconds since 1970.
    /// - Returns: the name that a source has again.
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

    /// Whether what has such a name is a source that was taken away.
    static func isTaken(_ name: some StringProtocol) -> Bool { isName(name) && source(of: String(name)) != nil }

    /// - Returns: nothing for a name that does not say it.
    private static func source(of name: String) -> String? {
        let source = name.utf8.dropFirst(prefix.utf8.count + digitCount + 1)
        return source.isEmpty ? nil : String(Substring(source))
    }
}

/// Which names a walk gives back.
struct WitnessSweep: Sendable {
    let key: WitnessKey
    /// Seconds since 1970.
    var time = Glibc.time(nil)
}
