import TransferHTTP
import TransferModel
import TransferProtocol

/// A change that a client asks for over HTTP: a request of the wire of frames, so that both have the same rights, versions and trash.
struct RequestedChange {
    let request: Request

    /// The path that the client has stated, as the answer repeats it.
    let path: String

    /// Path to which something is copied, moved or restored; nil for other changes.
    let target: String?

    /// Entity tag that the file must still have; nil for any.
    let tag: EntityTag?

    /// - Throws: 400 for an object that describes no change.
    init(_ item: ListItem) throws(HTTPRefusal) {
        path = try item.requiredText("path")
        let kind = try item.requiredText("change")
        let replaces = try item.flag("replace")
        switch kind {
        case "mkdir":
            try item.check(only: "change", "path")
            target = nil
            request = .make(MakeRequest(.directory, path: path))
        case "copy":
            try item.check(only: "change", "path", "target", "replace")
            let target = try item.requiredText("target")
            self.target = target
            request = .make(MakeRequest(.copy, path: target, target: Array(path.utf8), replaces: replaces))
        case "move":
            try item.check(only: "change", "path", "target", "replace", "etag")
            let target = try item.requiredText("target")
            self.target = target
            request = .move(MoveRequest(path: path, to: target, replaces: replaces))
        case "remove":
            try item.check(only: "change", "path", "recursive", "etag")
            target = nil
            request = .remove(RemoveRequest(path: path, isRecursive: try item.flag("recursive"), keepsInTrash: true))
        case "restore":
            try item.check(only: "change", "path", "target", "replace", "trash")
            let target = try item.text("target") ?? path
            self.target = target
            guard let batch = TrashBatch(try item.requiredText("trash")) else {
                throw item.fault("has 'trash', which must be the name of a trash batch")
            }
            request = .move(MoveRequest(path: path, to: target, replaces: replaces, trash: .batch(batch)))
        default: throw item.fault("has 'change', which must be mkdir, copy, move, remove or restore")
        }
        tag = try item.text("etag").map { (text) throws(HTTPRefusal) in
            guard let tag = EntityTag(field: text.utf8) else {
                throw item.fault("has 'etag', which must be an entity tag with its quotes")
            }
            return tag
        }
    }

    /// The request, for a file of this version only.
    ///
    /// - Parameter version: nil for any version.
    func request(of version: FileVersion?) -> Request {
        switch request {
        case .move(var move):
            move.version = version
            return .move(move)
        case .remove(var remove):
            remove.version = version
            return .remove(remove)
        default: return request
        }
    }
}
