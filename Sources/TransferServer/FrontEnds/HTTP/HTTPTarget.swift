import TransferHTTP
import TransferModel
import TransferStore

/// What a request is about.
struct HTTPTarget {
    /// As the client knows it, without a slash in front or behind; empty for its top.
    let path: String

    /// Whether it is written as a folder.
    let isFolder: Bool

    let query: RequestQuery

    /// - Throws: 400 for what cannot be a path.
    init(_ head: RequestHead) throws(HTTPRefusal) {
        do throws(HTTPFault) {
            let path = try RequestPath(head.resource.utf8)
            (self.path, isFolder, query) = (path.path, path.endsInSlash, path.query)
        } catch {
            throw HTTPRefusal(error.status, .invalidPath, error.message)
        }
    }

    private init(_ path: String, isFolder: Bool, _ query: RequestQuery) {
        (self.path, self.isFolder, self.query) = (path, isFolder, query)
    }

    /// A file in this folder.
    func file(_ name: String) -> HTTPTarget {
        HTTPTarget(path.isEmpty ? name : "\(path)/\(name)", isFolder: false, query)
    }
}
