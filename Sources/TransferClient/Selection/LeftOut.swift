/// What the rules of a push have left out of directories, and of the files that were named.
public struct LeftOut: Sendable, Equatable {
    /// Files, without those in folders that nobody has looked into.
    public var files = 0

    /// Folders of which nothing is sent.
    public var folders = 0

    /// Whether everything was sent that was found.
    public var isEmpty: Bool { files + folders == 0 }

    /// Nothing.
    public init() {}

    static func + (one: LeftOut, other: LeftOut) -> LeftOut {
        var sum = one
        sum.files += other.files
        sum.folders += other.folders
        return sum
    }
}
