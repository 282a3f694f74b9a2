import TransferModel
import TransferPorts
import TransferSystem

/// Whether the trash of a directory keeps everything that is removed and replaced. `ServerCore` decides once, at the start.
///
/// A directory that an older server has used has no such trash until its operator asks for one: replaced files would take room that the
/// operator has not planned for. The setting is in a file beside the catalog, so a copy of the directory includes it.
enum TrashSetting {
    static let fileName = "trash-setting"

    private static let on = "on\n"
    private static let off = "off\n"

    /// - Parameters:
    ///   - wanted: the operator's option; nil if it was not given.
    ///   - isNew: whether no server has stored in the directory before.
    ///   - folder: the server's own folder.
    /// - Returns: whether the directory has a trash. If the setting cannot be written, the next server decides again.
    static func decide(_ wanted: Bool?, isNew: Bool, in folder: String) -> Bool {
        let path = "\(folder)/\(fileName)"
        let known = known(in: path)
        let isOn = wanted ?? known ?? isNew
        // Without a file, a directory that is not new has the setting "off".
        if isOn != known ?? false {
            _ = try? OwnFile.write(Array((isOn ? on : off).utf8), to: path, replaces: true)
        }
        return isOn
    }

    /// - Returns: nil if there is no valid file, or if other users may have written it.
    private static func known(in path: String) -> Bool? {
        guard let file = try? OwnFile(reading: path, atMost: 16), file.isGuarded, !file.isLonger else { return nil }
        switch String(decoding: file.content, as: UTF8.self) {
        case on: return true
        case off: return false
        default: return nil
        }
    }
}
