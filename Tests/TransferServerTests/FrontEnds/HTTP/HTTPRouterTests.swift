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
            (.head, "/.transfer/receipt/00", 3), (.get, "/.transfer/receipt", 3), (.patch, "/.transfer/tus/00", 4),
            (.post, "/.transfer/tus", 4), (.options, "/.transfer/tus/", 4), (.head, "/.transfer/up/00", 5),
            (.get, "/", 7), (.head, "/a/b", 7), (.get, "/.transferx/out", 7), (.get, "/.transfer/outx", 7),
            (.get, "/.transfer/events/", 7), (.get, "/.transfer/events/a", 7), (.get, "/.transfer/receipts", 7),
            (.put, "/a", 8), (.put, "/.a", 8), (.post, "/", 9), (.delete, "/a", 10), (.options, "/a", 11),
        ] as [(HTTPMethod, String, Int)])
    func eachRequestHasItsRow(method: HTTPMethod, resource: String, index: Int) throws {
        #expect(try row(method, resource) == index)
    }

    @Test func anUploadThatCanBeGoneOnWithHasARowOfItsOwn() throws {
        let field = HTTPField(name: "Upload-Complete", value: Array("?1".utf8))
        for method in [HTTPMethod.put, .post, .patch] {
            #expect(try row(method, "/a", fields: [field]) == 6)
            // The address of a resumable upload is not the name of a file.
            #expect(try row(method, "/.transfer/up/00", fields: [field]) == 5)
        }
        #expect(try row(.get, "/a", fields: [field]) == 7)
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
        #expect(try self.row(.get, "/.transfer/new", of: router) == 12)
        #expect(allowed(.put, "/.transfer/new", of: router) == "GET")
        #expect(try self.row(.get, "/.transfer/new") == 7)
        #expect(try self.row(.get, "/.transfer/new/", of: router) == 7)
        let fewer = HTTPRouter(routes: Array(HTTPRouter.standard.routes.dropFirst()))
        #expect(allowed(.options, "*", of: fewer) == "")
    }
}
