/// Names in a folder on the server that no list contains because they cannot be paths: not UTF-8, too long, or
/// Transfer's own. No client can fetch or remove these entries individually.
public struct UnlistedNames: Sendable, Equatable {
    /// The path below the folder of the server's address; empty for that folder itself.
    public let folder: String

    /// Number of files and folders, and of symbolic links in lists that have links.
    public let count: UInt64

    /// Tells people about the names in the folder, and what to do.
    public var message: String { "\(words) Rename \(count == 1 ? "it" : "them") on the server." }

    /// The message without what to do.
    var words: String {
        let what = count == 1 ? "1 name in it is not listed" : "\(count) names in it are not listed"
        let them = count == 1 ? "it" : "them"
        return "\(what), because no path can have \(them): not UTF-8, too long, or reserved for Transfer."
    }
}
