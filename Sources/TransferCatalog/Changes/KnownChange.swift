import TransferModel
import TransferPorts

/// One change of a file's entries. The catalog makes them one after the other.
enum KnownChange {
    case forget(KnownChanges.Replaced)
    case link(PathLink)
    case move(PathMove)
    /// - Parameter after: the version after all changes of the file.
    case restamp(VersionChange, after: ContentVersion)

    /// The paths whose rows the change affects.
    var paths: [String] {
        switch self {
        case .forget(let replaced): [replaced.path]
        case .link(let link): [link.path]
        case .move(let move): [move.path, move.target]
        case .restamp(let change, _): [change.path]
        }
    }
}

extension KnownChanges {
    /// All changes except for moves of folders, in the order in which they are made.
    var ofFiles: [KnownChange] {
        // Several changes may concern one file, under one name or several. All of them record the file's last version.
        let last = Dictionary(versions.map { (FileNumber($0.after), $0.after) }) { $0.touch < $1.touch ? $1 : $0 }
        return kept.map { .move($0) } + replaced.map { .forget($0) } + links.map { .link($0) }
            + moves.filter { $0.object != nil }.map { .move($0) }
            + versions.map { .restamp($0, after: last[FileNumber($0.after)] ?? $0.after) }
            + returned.map { .link($0) }
    }
}

/// Identifies a file in a batch of changes. Files on two disks may have the same number, but hardly the same size as
/// well.
private struct FileNumber: Hashable {
    let object: UInt64
    let size: UInt64

    init(_ version: ContentVersion) { (object, size) = (version.object, version.size) }
}
