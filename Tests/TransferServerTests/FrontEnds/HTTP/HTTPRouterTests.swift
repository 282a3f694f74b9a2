import Testing
import TransferHTTP

@testable import TransferServer

/// The table's row that answers a request.
@Suite struct HTTPRouterTests {
    /// - Returns: the index of the row in the table.
    private func row(
        _ method: HTTPMethod, _ resource: String, fields: [HTTPField] = [], of router: HTTPRouter = .standard
    )
        throws(HTTPRefusal) -> Int
    {
        let head = RequestHead(method, resource, fields: HTTPFields(fields))
        let target = resource.utf8.elementsEqual("*".utf8) ? nil : try HTTPTarget(head)
        return try router.row(for: head, target)
    }

    private func allowed(_ method: HTTPMethod, _ resource: String, of router: HTTPRouter = .standard) -> String? {
        do throws(HTTPRefusal) {
            _ = try row(method, resource, of: router)
            return nil
        } catch {
            return error.status == 405 ? error.fields.first { $0.0 == "Allow" }?.1 : "\(error.status)"
        }
    }

    @Test(
        arguments: [
            (HTTPMethod.options, "*", 0), (.post, "/.transfer/out", 1), (.get, "/.transfer/events", 2),
            (.post, "/.transfer/changes", 3), (.post, "/.transfer/known", 4), (.get, "/.transfer/trash/x", 5),
            (.head, "/.transfer/receipt/00", 6), (.get, "/.transfer/receipt", 6), (.get, "/.transfer/thumb/a", 7),
            (.get, "/.transfer/details/a", 8), (.patch, "/.transfer/tus/00", 9),
            (.post, "/.transfer/tus", 9), (.options, "/.transfer/tus/", 9), (.head, "/.transfer/up/00", 10),
            (.get, "/", 12), (.head, "/a/b", 12), (.get, "/.transferx/out", 12), (.get, "/.transfer/outx", 12),
            (.get, "/.transfer/events/", 12), (.get, "/.transfer/events/a", 12), (.get, "/.transfer/receipts", 12),
            (.put, "/a", 13), (.put, "/.a", 13), (.post, "/", 14), (.delete, "/a", 15), (.options, "/a", 16),
        ] as [(HTTPMethod, String, Int)])
    func eachRequestHasItsRow(method: HTTPMethod, resource: String, index: Int) throws {
        #expect(try row(method, resource) == index)
    }

    @Test func anUploadThatCanBeGoneOnWithHasARowOfItsOwn() throws {
        let field = HTTPField(name: "Upload-Complete", value: Array("?1".utf8))
        for method in [HTTPMethod.put, .post, .patch] {
            #expect(try row(method, "/a", fields: [field]) == 11)
            // The address of a resumable upload is not the name of a file.
            #expect(try row(method, "/.transfer/up/00", fields: [field]) == 10)
        }
        #expect(try row(.get, "/a", fields: [field]) == 12)
    }

    @Test func otherMethodsAreToldWhichThereAre() {
        #expect(allowed(.patch, "/a") == "GET, HEAD, PUT, POST, DELETE, OPTIONS")
        #expect(allowed(.get, "/.transfer/out") == "POST")
        #expect(allowed(.post, "/.transfer/events") == "GET, HEAD")
        #expect(allowed(.delete, "/.transfer/receipt/00") == "GET, HEAD")
        #expect(allowed(.get, "/%00") == "400")
    }

    /// A new endpoint needs a row beside its handler, and nothing more.
    @Test func aNewEndpointIsOneRow() throws {
        let row = HTTPRoute(.own("new"), [.get], by: OptionsHandler.offer)
        let router = HTTPRouter(routes: HTTPRouter.standard.routes + [row])
        #expect(try self.row(.get, "/.transfer/new", of: router) == 17)
        #expect(allowed(.put, "/.transfer/new", of: router) == "GET")
        #expect(try self.row(.get, "/.transfer/new") == 12)
        #expect(try self.row(.get, "/.transfer/new/", of: router) == 12)
        let fewer = HTTPRouter(routes: Array(HTTPRouter.standard.routes.dropFirst()))
        #expect(allowed(.options, "*", of: fewer) == "")
    }
}
