import TransferHTTP
import TransferModel

/// Answers `/.transfer/page/VERSION/NAME`: the files of the page. They are the same for every client, and need no credentials.
struct AssetHandler: HTTPHandler {
    let context: HTTPContext

    private static let folder = Array("/\(RelativePath.reservedName)/page/".utf8)

    static func isAsset(_ head: RequestHead) -> Bool { head.resource.utf8.starts(with: folder) }

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This path allows only GET and HEAD.", [("Allow", "GET, HEAD")])
        }
        let assets = PageAssets.shared
        let names = target.path.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 4, !target.isFolder, let asset = assets[String(names[3])] else {
            throw HTTPRefusal(404, .notFound, "The page has no such file.")
        }
        // The page of an earlier server may ask for its own files, which are gone.
        guard assets.version.hasSameBytes(as: String(names[2])) else {
            throw HTTPRefusal(404, .notFound, "The server has been updated: load the page again.")
        }
        let fields = [("Cache-Control", "public, max-age=31536000, immutable"), ("Vary", "Accept-Encoding")]
        let codings = request.head.fields.list("accept-encoding")
        guard let deflated = asset.deflated, codings.contains(where: { HTTPCharacter.areSame($0.utf8, "deflate") })
        else { return .reply(HTTPReply(200, fields, asset.bytes, type: asset.type)) }
        return .reply(HTTPReply(200, fields + [("Content-Encoding", "deflate")], deflated, type: asset.type))
    }
}
