import CLinux
import Glibc
import TransferModel
import TransferTestSupport

/// The facts that rsync -aHX compares: form, content, permissions, times, links, hard links and extended attributes.
/// Each line has a path and its facts, so that a failed comparison shows the difference.
struct TreeFacts: Equatable {
    let lines: [String]

    /// - Parameter isTopWanted: whether the attributes of the top directory count.
    init(_ top: String, isTopWanted: Bool = true) {
        var lines: [String] = []
        var names: [ino_t: String] = [:]
        if isTopWanted { lines.append(Self.facts(of: top, "", &names)) }
        Self.collect(top, "", &lines, &names)
        self.lines = lines
    }

    private static func collect(
        _ top: String, _ folder: String, _ lines: inout [String], _ names: inout [ino_t: String]
    ) {
        for name in TransferTestSupport.names(in: "\(top)/\(folder)").sorted(by: { PathKey($0) < PathKey($1) }) {
            if folder.isEmpty, name == ".transfer" || name == ".transfer-parts" { continue }
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            lines.append(facts(of: "\(top)/\(path)", path, &names))
            if isDirectory("\(top)/\(path)") { collect(top, path, &lines, &names) }
        }
    }

    private static func facts(of place: String, _ path: String, _ names: inout [ino_t: String]) -> String {
        var status = stat()
        guard lstat(place, &status) == 0 else { return "\(path) is gone" }
        var text = "\(path) \(String(status.st_mode, radix: 8)) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        switch status.st_mode & S_IFMT {
        case S_IFLNK:
            var target = [CChar](repeating: 0, count: 4097)
            let count = readlink(place, &target, 4096)
            text += " -> \(String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self))"
        case S_IFREG:
            let first = names[status.st_ino] ?? path
            names[status.st_ino] = first
            text += " \(Files.read(place)?.hashValue ?? 0) of \(status.st_size), as \(first)"
        default: break
        }
        return text + attributes(of: place, status)
    }

    private static func attributes(of place: String, _ status: stat) -> String {
        guard status.st_mode & S_IFMT != S_IFLNK else { return "" }
        let file = open(place, O_RDONLY)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var list = [CChar](repeating: 0, count: 4096)
        let count = clinux_flistxattr(file, &list, list.count)
        let names = list.prefix(max(0, count)).map { UInt8(bitPattern: $0) }.split(separator: 0).map(Array.init)
        return names.map { String(decoding: $0, as: UTF8.self) }.sorted().map { name in
            var value = [CChar](repeating: 0, count: 4096)
            let length = clinux_fgetxattr(file, name, &value, value.count)
            return " \(name)=\(value.prefix(max(0, length)))"
        }.joined()
    }
}
