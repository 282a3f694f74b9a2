import TransferModel
import TransferPorts
import TransferSystem

/// Whether a directory has a trash for all that is removed and replaced, which it keeps in mind from one server to the next.
///
/// A directory of an older server has none until somebody wants it: what is replaced there would take room that nobody has reckoned
/// with. It stands in a file beside the catalog, so it goes along with a copy of the directory.
enum TrashSetting {
    static let fileName = "trash-setting"

    private static let on = "on\n"
    private static let off = "off\n"

    /// - Parameters:
    ///   - wanted: the operator's option; nil without one.
    ///   - isNew: whether no server has stored in the directory before.
    ///   - folder: the server's own.
    /// - Returns: whether it has one. What cannot be written down is asked for again.
    static func decide(_ wanted: Bool?, isNew: Bool, in folder: String) -> Bool {
        let path = "\(folder)/\(fileName)"
        let known = known(in: path)
        let isOn = wanted ?? known ?? isNew
        // What is written nowhere is off for a directory that is not new.
        if isOn != known ?? false {
            _ = try? OwnFile.write(Array((isOn ? on : off).utf8), to: path, replaces: true)
        }
        return isOn
    }

    /// - Returns: nil where nothing is written down, or others may have done that.
    private static func known(in path: String) -> Bool? {
        guard let file = try? OwnFile(reading: path, atMost: 16), file.isGuarded, !file.isLonger else { return nil }
        switch String(decoding: file.content, as: UTF8.self) {
        case on: return true
        case off: return false
        default: return nil
        }
    }
}
