import TransferHTTP

/// Which page had a browser ask.
extension HTTPWay {
    /// Whether it was one of this server, as the browser says: by `Origin`, and where that is missing by `Sec-Fetch-Site` (Fetch
    /// Metadata). Where it says neither, it could have been any.
    func isFromOwnPage(_ head: RequestHead) -> Bool {
        let origins = head.fields.values("origin")
        guard origins.isEmpty else { return origins.count == 1 && isOwn(origins[0], head) }
        let sites = head.fields.values("sec-fetch-site")
        return sites.count == 1 && sites[0].elementsEqual("same-origin".utf8)
    }

    /// Whether a page of another site wants something as a part of itself, and not the user to go there.
    static func isPartOfForeignPage(_ fields: HTTPFields) -> Bool {
        let own = ["same-origin", "none"].map { Array($0.utf8) }
        guard !fields.values("sec-fetch-site").allSatisfy(own.contains) else { return false }
        let goesThere = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")].allSatisfy { name, value in
            fields.values(name) == [Array(value.utf8)]
        }
        return !goesThere
    }
}
