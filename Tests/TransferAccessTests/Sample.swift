import TransferKeys
import TransferModel
import TransferSystem

@testable import TransferAccess

/// Values that many tests begin with.
enum Sample {
    static let key = KeyPair().key
    static let now = UTCTime(clamping: 1_800_000_000)
    static let time = MonotonicTime(nanoseconds: 1_000_000_000)

    static func options(_ change: (inout AccessOptions) -> Void) -> AccessOptions {
        var options = AccessOptions()
        change(&options)
        return options
    }

    static func write(_ text: String, to path: String) -> Bool {
        (try? OwnFile.write(Array(text.utf8), to: path, replaces: true)) != nil
    }

    static func path(_ text: String) -> RelativePath {
        guard let path = try? RelativePath(text) else { preconditionFailure("not a path: \(text)") }
        return path
    }
}
