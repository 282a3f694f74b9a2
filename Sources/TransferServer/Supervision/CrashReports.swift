internal import CLinux
import Glibc
import TransferModel
package import TransferSystem

/// The reports about workers that signals have ended: files in the server's own folder, of which the newest are kept. A list of them only
/// uses their names, so that the server need not read what a broken process has written.
package struct CrashReports: Sendable {
    /// The facts that the name of a report has.
    package struct Entry: Equatable, Sendable {
        /// In the format of RFC 3339.
        package let time: String
        package let signal: String
        package let name: String

        /// - Returns: nil if the name is not that of a report.
        init?(_ name: String) {
            let parts = name.split(separator: "_")
            guard parts.count == 3, parts[0].utf8.count == 20, parts[2].hasSuffix(CrashReports.ending) else {
                return nil
            }
            // Another process may have put the file there, so its name can have characters of several bytes, which must not be cut.
            let bytes = Array(parts[0].utf8)
            guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
            time = [bytes[..<13], bytes[14..<16], bytes[17...]].map { String(decoding: $0, as: UTF8.self) }
                .joined(separator: ":")
            signal = String(parts[1])
            self.name = name
        }
    }

    /// Name of the folder in the server's own folder.
    static let folder = "crashes"

    /// Most reports that are kept; each has at most 65 KiB.
    static let most = 20

    fileprivate static let ending = ".txt"

    /// Path of the server's directory.
    private let directory: String

    package init(of directory: String) {
        self.directory = directory
    }

    package var path: String { "\(directory)/\(RelativePath.reservedName)/\(Self.folder)" }

    /// All reports, the oldest first.
    package var all: [Entry] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var entries: [Entry] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let found = name.flatMap(Entry.init) { entries.append(found) }
        }
        return entries.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Writes a report and removes the oldest ones above `most`. Makes the folder if the server's own folder exists.
    package func keep(_ report: CrashReport) throws(SystemError) {
        let own = try Self.open(RelativePath.reservedName, in: Self.open(directory, follows: true))
        let number = own.number
        guard mkdirat(number, Self.folder, 0o700) == 0 || errno == EEXIST else {
            throw SystemError(errno: errno, call: "mkdirat")
        }
        let crashes = try Self.open(Self.folder, in: own)
        try Self.write(report, in: crashes)
        for entry in all.dropLast(Self.most) { unlinkat(crashes.number, entry.name, 0) }
    }

    private static func write(_ report: CrashReport, in folder: borrowing Descriptor) throws(SystemError) {
        let name = "\(report.stamp)_\(report.signalName)_\(report.process)\(ending)"
        let place = folder.number
        let file = Descriptor(
            try system("openat") {
                clinux_openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow, 0o600)
            })
        try writeAll(report.text, to: file.number)
    }

    private static func open(_ path: String, follows: Bool) throws(SystemError) -> Descriptor {
        let flags = clinux_o_directory | O_CLOEXEC | O_RDONLY | (follows ? 0 : clinux_o_nofollow)
        return Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) })
    }

    private static func open(_ name: String, in folder: borrowing Descriptor) throws(SystemError) -> Descriptor {
        let place = folder.number
        let flags = clinux_o_directory | O_CLOEXEC | O_RDONLY | clinux_o_nofollow
        return Descriptor(try system("openat") { clinux_openat(place, name, flags, 0) })
    }
}
