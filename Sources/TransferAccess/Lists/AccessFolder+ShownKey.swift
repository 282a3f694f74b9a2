package import TransferKeys
import TransferModel
import TransferSystem

/// The key that the server shows to clients. With a certificate it differs from the key of the server's identity, and
/// links must contain the shown key.
extension AccessFolder: ManagedAccess {
    private static let shownKeyName = "shown_key"

    /// Most bytes of the file; a fingerprint has 50, and a line feed follows it.
    private static let longestShownKey = 64

    /// Stores the fingerprint of the key that the server shows from now on.
    ///
    /// - Throws: a sentence for the operator.
    package func keep(shownKey key: KeyFingerprint) throws(AccessFault) {
        guard (try? shownKey()) != key else { return }
        do throws(SystemError) {
            _ = try OwnFile.write(Array("\(key)\n".utf8), to: path(Self.shownKeyName), replaces: true)
        } catch {
            throw AccessFault("'\(path(Self.shownKeyName).escapedForDisplay)' cannot be written: \(error.reason).")
        }
    }

    /// The fingerprint that the server stored at its latest start.
    ///
    /// - Returns: nil if no server has stored one.
    /// - Throws: a sentence if the file cannot be read or trusted.
    package func shownKey() throws(AccessFault) -> KeyFingerprint? {
        let shown = path(Self.shownKeyName).escapedForDisplay
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path(Self.shownKeyName), atMost: Self.longestShownKey)
        } catch {
            throw AccessFault("'\(shown)' cannot be read: \(error.reason).")
        }
        guard let file else { return nil }
        let text = String(decoding: file.content.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard file.isGuarded, let key = KeyFingerprint(text) else {
            throw AccessFault("'\(shown)' was not written by a server; remove it, and start the server again.")
        }
        return key
    }
}
