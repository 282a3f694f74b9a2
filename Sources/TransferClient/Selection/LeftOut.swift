/// Counts what the rules of a push have left out, from directories and among the named files.
public struct LeftOut: Sendable, Equatable {
    /// Number of files, without those in folders that were not entered.
    public var files = 0

    /// Number of folders from which nothing is sent.
    public var folders = 0

    /// Whether nothing was left out.
    public var isEmpty: Bool { files + folders == 0 }

    /// Makes counts of zero files and folders.
    public init() {}

    static func + (one: LeftOut, other: LeftOut) -> LeftOut {
        var sum = one
        sum.files += other.files
        sum.folders += other.folders
        return sum
    }
}
