/// What is sent, fetched or made: a file or one of the things that are kept beside files on request.
public enum EntryForm: String, Sendable, CaseIterable {
    /// A file with its content.
    case file
    /// A folder.
    case folder
    /// A symbolic link.
    case link
    /// Another name of a file that has one already.
    case hardLink = "hard-link"
}
