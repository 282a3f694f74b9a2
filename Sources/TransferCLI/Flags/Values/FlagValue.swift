/// What the value of a flag or an operand is: for checks before the command runs, and for shells that complete it.
enum FlagValue: Equatable, Sendable {
    case text
    /// A path, of a file most often.
    case file
    case folder
    /// A server: an address, or the name of a remote.
    case server
    /// The name of a remote.
    case remote
    /// A path on a server that it may name, as `ServerPlace` reads it.
    case place
    /// The same, or a file here.
    case placeOrFile
    /// A file here, or a place on a server that is named.
    case fileOrTarget
    /// The names of people who can be sent something, with commas between them.
    case person
    /// The words of a command.
    case command
    /// See `SizeNotation`.
    case size
    /// See `DurationNotation`.
    case duration
    /// One of these words.
    case oneOf([String])

    /// Whether a relative path in a file counts from the folder of that file.
    var isPath: Bool { self == .file || self == .folder }

    /// Whether it names a file, a folder or a server, here or there.
    var isPlace: Bool {
        switch self {
        case .file, .folder, .server, .remote, .place, .placeOrFile, .fileOrTarget: true
        case .text, .person, .command, .size, .duration, .oneOf: false
        }
    }
}

extension Command {
    /// What a shell offers for an operand.
    var operandCompletion: FlagValue {
        switch places {
        case .none: operandValue
        case .server: .server
        case .all: .place
        case .target: .fileOrTarget
        case .sources, .any: .placeOrFile
        }
    }
}

extension Flag {
    /// What a shell offers for its value.
    var completion: FlagValue { choices.map(FlagValue.oneOf) ?? value }

    /// Every form that can be typed.
    var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [spelling] }
}
