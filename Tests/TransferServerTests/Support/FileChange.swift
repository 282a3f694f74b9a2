import Glibc
import TransferTestSupport

/// Changes that another program makes to a stored file without altering its content.
enum FileChange: CaseIterable {
    case replace
    case move
    case remove
    case restrict
    case link

    /// - Returns: whether the change was made.
    func make(_ path: String) -> Bool {
        switch self {
        case .replace: TestServer.write([2], path + "-new") && rename(path + "-new", path) == 0
        case .move: rename(path, path + "-moved") == 0
        case .remove: unlink(path) == 0
        case .restrict: chmod(path, 0o600) == 0
        case .link: Glibc.link(path, path + "-link") == 0
        }
    }
}
